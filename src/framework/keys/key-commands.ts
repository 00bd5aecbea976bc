import { Command, InvalidArgumentError, Option } from 'commander'
import type { ApiKeyStore, PrintedRow } from './store.ts'

/** Gives an action the key store, and prints the text that it returns. */
type Run = (action: (store: ApiKeyStore) => Promise<string>) => Promise<void>

/**
 * The commands that manage API keys.
 *
 * @param serviceName begins the name of the command in the image
 * @param knownScopes the scopes that a key can have
 */
export function keyCommands(
  run: Run,
  knownScopes: string[],
  serviceName: string
): Command {
  const isNpmScript = process.env['npm_lifecycle_event'] === 'keys'
  const name = isNpmScript ? 'npm run keys --' : `${serviceName}-keys`
  const program = new Command(name)
    .description('Manages the API keys of the configured database.')
    .configureOutput({ outputError })

  addCreate(program, run, knownScopes)
  addList(program, run, {
    name: 'list',
    description: 'list all keys, each with its first characters only',
    read: (store) => store.list()
  })
  addRotate(program, run)
  addRevoke(program, run)
  addList(program, run, {
    name: 'audit',
    description: 'show the audit log',
    read: (store) => store.events()
  })

  return program
}

/** Prints an error in one line, including a suggestion. */
function outputError(text: string, write: (text: string) => void): void {
  write(text.replace('\n(', ' ('))
}

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
    .action(({ name, expires, scope }: Options) =>
      run((store) =>
        store.create(name, {
          lifetime: expires,
          scopes: scope && [...new Set(scope)]
        })
      )
    )
}

function addRotate(program: Command, run: Run): void {
  interface Options {
    overlap: string
    expires?: string
  }

  program
    .command('rotate')
    .description('replace a key: print a new one and let the old one expire')
    .argument('<id>', 'the old key: its id, or its prefix in the list')
    .option(
      '--overlap <duration>',
      'how long the old key still works; 0s ends it within a second',
      duration,
      '24h'
    )
    .option(
      '--expires <duration>',
      'the lifetime of the new key (default: as for the old one)',
      duration
    )
    .action((idOrPrefix: string, { overlap, expires }: Options) =>
      run((store) => store.rotate(idOrPrefix, overlap, expires))
    )
}

function addRevoke(program: Command, run: Run): void {
  program
    .command('revoke')
    .description('revoke a key, which stops working within a second')
    .argument('<id>', 'the key: its id, or its prefix in the list')
    .action((idOrPrefix: string) =>
      run(async (store) => {
        const id = await store.revoke(idOrPrefix)
        return `Revoked key ${id}. It stops working within a second.`
      })
    )
}

interface ListCommand {
  name: string
  description: string
  read: (store: ApiKeyStore) => Promise<PrintedRow[]>
}

function addList(
  program: Command,
  run: Run,
  { name, description, read }: ListCommand
): void {
  program
    .command(name)
    .description(description)
    .option('--json', 'print JSON, for scripts')
    .action(({ json }: { json?: true }) =>
      run(async (store) => {
        const rows = await read(store)
        return json ? JSON.stringify(rows, null, 2) : tableOf(rows)
      })
    )
}

/** Checks a duration such as 30m, 24h or 90d. */
function duration(text: string): string {
  if (/^(0s|[1-9]\d{0,5}[smhd])$/.test(text)) return text
  throw new InvalidArgumentError('Write it as 30m, 24h or 90d.')
}

/** Aligned columns under the names of the properties; `-` for null. */
function tableOf(rows: PrintedRow[]): string {
  const names = Object.keys(rows[0] ?? {})
  const header = names.map((name) => name.toUpperCase())
  const body = rows.map((row) => names.map((name) => row[name] ?? '-'))
  const lines = [header, ...body]

  const widths = names.map((_name, column) =>
    Math.max(...lines.map((cells) => String(cells[column]).length))
  )

  return lines
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(Number(widths[column])))
        .join('  ')
        .trimEnd()
    )
    .join('\n')
}
