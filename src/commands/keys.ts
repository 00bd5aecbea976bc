#!/usr/bin/env node
// `npm run keys`, or `pet-categories-keys` in the image: manages API keys.
import { parseArgs } from 'node:util'
import { exitWithError } from '../exit-with-error.ts'
import {
  createApiKey,
  listApiKeys,
  revokeApiKey
} from '../api-keys/manage-api-keys.ts'
import { readApiDocument } from '../openapi/document.ts'
import { runAndPrint } from './run-and-print.ts'

const usage = `Usage: keys create --name NAME [--expires 90d] [--scope SCOPE ...]
       keys list
       keys revoke ID

create  prints a new API key, once. Without --scope, it may do everything;
        without --expires (30m, 24h, 90d), it works until it is revoked. API
        keys of one NAME share their Idempotency-Keys and their rate limit: to
        replace an API key, create another, change the client, and revoke the
        first.
list    shows all API keys, each with its first characters only.
revoke  ends an API key within a second.`

/** Each command rejects the arguments that it does not use. */
async function main([command, ...args]: string[]): Promise<void> {
  if (command === 'create') await create(args)
  else if (command === 'list') await list(args)
  else if (command === 'revoke') await revoke(args)
  else if (command === '--help') console.log(usage)
  else throw new Error('use create --name NAME, list or revoke ID; see --help')
}

async function create(args: string[]): Promise<void> {
  const options = {
    name: { type: 'string' },
    expires: { type: 'string' },
    scope: { type: 'string', multiple: true }
  } as const
  const { values } = parseArgs({ args, options })
  const { name, expires: lifetime, scope: scopes } = values
  if (name === undefined) throw new Error('create needs --name NAME')
  rejectMalformedDuration(lifetime)
  rejectUnknownScopes(scopes)

  await runAndPrint((connection) =>
    createApiKey(connection, name, { lifetime, scopes })
  )
}

async function list(args: string[]): Promise<void> {
  // It has no options: parseArgs rejects any argument.
  parseArgs({ args, options: {} })
  await runAndPrint(listApiKeys)
}

async function revoke(args: string[]): Promise<void> {
  const { positionals } = parseArgs({ args, allowPositionals: true })
  const [id, ...others] = positionals
  if (id === undefined || others.length > 0)
    throw new Error('revoke needs one ID; see: keys list')

  await runAndPrint(async (connection) => {
    await revokeApiKey(connection, id)
    return `Revoked API key ${id}. It stops working within a second.`
  })
}

function rejectMalformedDuration(text: string | undefined): void {
  if (text !== undefined && !/^[1-9]\d{0,5}[smhd]$/.test(text))
    throw new Error('--expires must be a duration such as 30m, 24h or 90d')
}

function rejectUnknownScopes(scopes: string[] = []): void {
  const { scopes: known } = readApiDocument()
  if (!scopes.every((scope) => known.includes(scope)))
    throw new Error(`--scope must be one of: ${known.join(', ')}`)
}

await main(process.argv.slice(2)).catch(exitWithError)
