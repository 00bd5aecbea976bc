import { Command, InvalidArgumentError } from 'commander'
import type { KeyStore } from './store.ts'

/** Checks a duration such as 30m, 24h or 90d. */
function duration(text: string): string {
  if (!/^(0s|[1-9]\d{0,5}[smhd])$/.test(text))
    throw new InvalidArgumentError('Write it as 30m, 24h or 90d.')
  return text
}

type Rows = Awaited<ReturnType<KeyStore['list']>>

/** Aligned columns under the names of the properties; `-` for null. */
function table(rows: Rows): string {
  const columns = Object.keys(rows[0] ?? {}).map((name) => {
    const cells = [name.toUpperCase(), ...rows.map((row) => row[name] ?? '-')]
    const width = Math.max(...cells.map(({ length }) => length))
    return cells.map((cell) => cell.padEnd(width))
  })
  const lines = [undefined, ...rows].map((_row, line) =>
    columns.map((cells) => cells[line]).join('  ')
  )
  return lines.map((line) => line.trimEnd()).join('\n')
}

/**
 * The commands that manage API keys.
 *
 * @param run gives an action the key store, and prints the text that the action returns
 */
export function keyCommands(
  run: (action: (store: KeyStore) => Promise<string>) => Promise<void>
): Command {
  const name =
    process.env['npm_lifecycle_event'] === 'keys'
      ? 'npm run keys --'
      : 'pet-categories-keys'
  const program = new Command(name).description(
    'Manages the API keys of the configured database.'
  )

  const addList = (
    command: string,
    description: string,
    read: (store: KeyStore) => Promise<Rows>
  ) =>
    program
      .command(command)
      .description(description)
      .option('--json', 'print JSON, for scripts')
      .action(({ json }: { json?: true }) =>
        run(async (store) =>
          json
            ? JSON.stringify(await read(store), null, 2)
            : table(await read(store))
        )
      )

  program
    .command('create')
    .description('create a key and print it (shown only once)')
    .requiredOption('--name <name>', 'the client that the key is for')
    .option(
      '--expires <duration>',
      'its lifetime, such as 30m, 24h or 90d (default: until it is revoked)',
      duration
    )
    .action(({ name, expires }: { name: string; expires?: string }) =>
      run((store) => store.create(name, expires))
    )
  addList(
    'list',
    'list all keys, each with its first characters only',
    (store) => store.list()
  )
  program
    .command('rotate')
    .description('replace a key: print a new one and let the old one expire')
    .argument('<id>', 'the old key')
    .option(
      '--overlap <duration>',
      'how long the old key still works; 0s ends it within a second',
      duration,
      '24h'
    )
    .option(
      '--expires <duration>',
      'the lifetime of the new key (default: that of the old one)',
      duration
    )
    .action(
      (
        id: string,
        { overlap, expires }: { overlap: string; expires?: string }
      ) => run((store) => store.rotate(id, overlap, expires))
    )
  program
    .command('revoke')
    .description('revoke a key, which stops working within a second')
    .argument('<id>', 'the key')
    .action((id: string) =>
      run((store) =>
        store
          .revoke(id)
          .then(() => `Revoked key ${id}. It stops working within a second.`)
      )
    )
  addList('audit', 'show the audit log', (store) => store.events())
  return program
}
