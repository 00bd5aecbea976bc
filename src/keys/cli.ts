// The command `npm run keys`: makes, lists and revokes API keys.
import { parseArgs } from 'node:util'
import { loadConfig } from '../config.ts'
import { openConfigured } from '../database/open.ts'
import { fail } from '../fail.ts'
import { createLogger } from '../log.ts'
import { createKey } from './create.ts'
import { type KeyStore, keyStore } from './store.ts'

const usage = `Makes, lists and revokes the API keys of the configured database.

  npm run keys -- create --name NAME   make a key and print it, once, on the last line
  npm run keys -- list                 list all keys: id, when made, state, name
  npm run keys -- revoke ID            end a key; it stops working within a second
  npm run keys -- --help               show this`

/** A command that was called wrongly. */
class UsageError extends Error {}

type Command = (store: KeyStore) => Promise<string>

function readCommand(args: string[]): Command | undefined {
  const { values, positionals } = parse(args)
  if (values.help) return undefined
  const [command, id, ...rest] = positionals
  if (rest.length > 0) throw new UsageError(`Too many words: ${rest.join(' ')}`)
  if (command !== 'create' && values.name !== undefined) throw new UsageError('--name goes with create')
  switch (command) {
    case 'create': {
      const { name } = values
      if (!name || /\p{Cc}/u.test(name) || id !== undefined) {
        throw new UsageError('A key needs a name, of one line: create --name NAME')
      }
      return (store) => createKey(store, name)
    }
    case 'list':
      if (id !== undefined) throw new UsageError(`Too many words: ${id}`)
      return list
    case 'revoke':
      if (id === undefined || !/^\d{1,18}$/.test(id))
        throw new UsageError('A key to revoke is named by its id: revoke ID, where list shows the ids')
      return (store) => revoke(store, BigInt(id))
    default:
      throw new UsageError(command === undefined ? 'A command is missing' : `There is no command ${command}`)
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { name: { type: 'string' }, help: { type: 'boolean', short: 'h' } }
    })
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error })
  }
}

async function list(store: KeyStore): Promise<string> {
  const line = (id: string, created: string, state: string, name: string) =>
    `${id.padEnd(8)}${created.padEnd(26)}${state.padEnd(34)}${name}`
  const lines = (await store.list()).map(({ id, name, created_at, revoked_at }) => {
    const state = revoked_at === null ? 'valid' : `revoked ${revoked_at.toISOString()}`
    return line(id.toString(), created_at.toISOString(), state, name)
  })
  return [line('ID', 'CREATED', 'STATE', 'NAME'), ...lines].join('\n')
}

async function revoke(store: KeyStore, id: bigint): Promise<string> {
  if (!(await store.revoke(id))) throw new Error(`There is no valid key with the id ${id}`)
  return `Revoked key ${id}: it stops working within a second.`
}

try {
  const command = readCommand(process.argv.slice(2))
  if (command === undefined) console.log(usage)
  else {
    const config = loadConfig(process.env)
    const database = await openConfigured(
      config,
      { share: true, migrate: config.MIGRATE_ON_START },
      createLogger('silent')
    )
    try {
      console.log(await command(keyStore(database)))
    } finally {
      await database.close()
    }
  }
} catch (error) {
  if (!(error instanceof UsageError)) fail(error)
  console.error(`pet-categories: ${error.message}\n\n${usage}`)
  process.exitCode = 2
}
