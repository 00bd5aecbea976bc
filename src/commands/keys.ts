#!/usr/bin/env node
// `npm run keys`, or the command `…-keys` of the image: manages API keys.
import '../framework/javascript-pg.ts'
import { keyCommands } from '../framework/keys/key-commands.ts'
import { ApiKeyStore } from '../framework/keys/store.ts'
import { exitOnError } from '../framework/exit-on-error.ts'
import { createLogger } from '../framework/log.ts'
import { readApiDocument } from '../framework/openapi/document.ts'
import { api } from '../handlers/index.ts'
import { withMigratedDatabase } from './run-command.ts'

const { service: serviceName, apiKeyPrefix } = api.names
const { scopes } = readApiDocument(api.openapiFile)

// On stdout is what a command prints, such as the only copy of a key.
const log = createLogger('info', apiKeyPrefix, process.stderr.fd)

const program = keyCommands(
  (action) =>
    withMigratedDatabase((database) =>
      action(new ApiKeyStore(database, apiKeyPrefix, log))
    ),
  scopes
)
await program.parseAsync().catch(exitOnError(serviceName))
