import { fstatSync, readSync, statSync } from 'node:fs'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { ApiKeyStore, PrintedRow } from './store.ts'

/** Gives an action the key store, and prints the text or rows it returns. */
type Run = (
  action: (store: ApiKeyStore) => Promise<string | PrintedRow[]>
) => Promise<void>

/**
 * The commands that manage API keys.
 *
 * @param knownScopes the scopes that a key can have
 */
export function keyCommands(run: Run, knownScopes: string[]): Command {
  const program = new Command('keys')
    .description('Manages the API keys of the configured database.')
    .configureOutput({ outputError })

  addCreate(program, run, knownScopes)
  addChanges(program, run)
  addList(program, run)

  return program
}

/** Prints an error in one line, including a suggestion. */
const outputError = (text: string, write: (text: string) => void) =>
  write(text.replace('\n(', ' ('))

function addCreate(program: Command, run: Run, knownScopes: string[]): void {
  interface Options {
    name: string
    expires?: string
    scope?: string[]
  }

  program
    .command('create')
    .description('create a key and print it (shown only once)')
    .requiredOption('--name <name>', 'the client that the key is for')
    .option(
      '--expires <duration>',
      'its lifetime, such as 30m, 24h or 90d (default: until it is revoked)',
      duration
    )
    .addOption(
      new Option(
        '--scope <scopes...>',
        'what it may do (default: everything)'
      ).choices(knownScopes)
    )
    .action(({ name, expires: lifetime, scope: scopes }: Options) => {
      requireOutput()
      return run((store) => store.create(name, { lifetime, scopes }))
    })
}

function addChanges(program: Command, run: Run): void {
  interface Options {
    overlap: string
    expires?: string
  }

  program
    .command('rotate')
    .description('replace a key: print a new one and let the old one expire')
    .argument('<id>', 'the old key: its id, or its shown part in the list')
    .option(
      '--overlap <duration>',
      'how long the old key still works; 0s ends it within a second',
      (text) => (text === '0s' ? text : duration(text)),
      '24h'
    )
    .option(
      '--expires <duration>',
      'the lifetime of the new key (default: as for the old one)',
      duration
    )
    .action((idOrShownPart: string, { overlap, expires }: Options) => {
      requireOutput()
      return run((store) => store.rotate(idOrShownPart, overlap, expires))
    })

  program
    .command('revoke')
    .description('revoke a key, which stops working within a second')
    .argument('<id>', 'the key: its id, or its shown part in the list')
    .action((idOrShownPart: string) =>
      run(async (store) => {
        await store.revoke(idOrShownPart)
        return `Revoked key ${idOrShownPart}. It stops working within a second.`
      })
    )
}

function addList(program: Command, run: Run): void {
  program
    .command('list')
    .description('list all keys, each with its first characters only')
    .option('--json', 'print JSON, for scripts')
    .action(({ json }: { json?: true }) =>
      run(async (store) => {
        const rows = await store.list()
        return json ? JSON.stringify(rows, null, 2) : rows
      })
    )
}

/**
 * Node.js opens /dev/null in place of a stdout that the shell has closed
 * (`>&-`), to write and to read: a new key would be lost without an error.
 *
 * @throws Error if stdout is closed
 */
function requireOutput(): void {
  const { fd } = process.stdout
  if (fstatSync(fd).rdev !== statSync('/dev/null').rdev) return
  try {
    readSync(fd, Buffer.alloc(1))
  } catch {
    return // It was opened to write only, by `>/dev/null`.
  }
  throw new Error('stdout is closed: the new key would be lost')
}

/** Checks a duration such as 30m, 24h or 90d. */
function duration(text: string): string {
  if (/^[1-9]\d{0,5}[smhd]$/.test(text)) return text
  throw new InvalidArgumentError('Write it as 30m, 24h or 90d.')
}
