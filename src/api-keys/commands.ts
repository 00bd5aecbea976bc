import { Command, InvalidArgumentError, Option } from 'commander'
import { createKey, noSuchKey, rotateKey } from './issue.ts'
import type { KeyStore } from './store.ts'

const secondsOf = { s: 1, m: 60, h: 3600, d: 86400 }

/** Seconds of a duration such as 30m, 24h or 90d. */
function duration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (unit === undefined) throw new InvalidArgumentError('A duration is a number and s, m, h or d: 30m, 24h, 90d.')
  return Number(count) * secondsOf[unit as keyof typeof secondsOf]
}

function lifetime(text: string): number {
  const seconds = duration(text)
  if (seconds === 0) throw new InvalidArgumentError('A key must live longer than that.')
  return seconds
}

function keyName(text: string): string {
  if (text === '' || /\p{Cc}/u.test(text)) throw new InvalidArgumentError('A name is one line of text.')
  return text
}

function keyId(text: string): bigint {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('A key is named by its id; list shows the ids.')
  return BigInt(text)
}

/** Rows under the names of their columns, each column as wide as it needs; `-` where there is no value. */
function table(rows: object[], columns: string[]): string {
  const cell = (value: unknown) => String((value as string | bigint | null) ?? '-')
  const texts = columns.map((name) => [
    name.toUpperCase().replace(/_AT$/, '').replaceAll('_', ' '),
    ...rows.map((row) => cell((row as Record<string, unknown>)[name]))
  ])
  const padded = texts.map((column) => {
    const width = Math.max(...column.map(({ length }) => length))
    return column.map((text) => text.padEnd(width))
  })
  const lineOf = (_row: unknown, line: number) =>
    padded
      .map((column) => column[line])
      .join('  ')
      .trimEnd()
  return [columns, ...rows].map(lineOf).join('\n')
}

/** As JSON, an id as text: it may be larger than a JavaScript number is exact. */
const json = (rows: object[]) =>
  JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value), 2)

const show = (rows: object[], columns: string[], { json: asJson }: { json?: boolean }) =>
  asJson ? json(rows) : table(rows, columns)

export interface KeyCommandsOptions {
  /** The name by which the command is called. */
  name: string
  /** What is written down as the command that changed a key; it never holds one. */
  command: string
  /** Does something with the key store and prints what it gives. */
  withKeys: (work: (store: KeyStore) => Promise<string>) => Promise<void>
}

/** The key command: its words and options, and what it does with the key store. It throws CommanderError when called wrongly. */
export function keyCommands({ name, command, withKeys }: KeyCommandsOptions): Command {
  const program = new Command()
    .name(name)
    .description('Makes, lists, rotates and revokes the API keys of the configured database.')
    .helpCommand(false)
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'pet-categories: ')) })
    .showHelpAfterError(`See: ${name} --help`)
    .exitOverride()

  program
    .command('create')
    .description('make a key and print it, once, as the only line of the output')
    .requiredOption('--name <name>', 'who the key is for', keyName)
    .option('--expires <duration>', 'how long it lives: 30m, 24h, 90d; without it, until it is revoked', lifetime)
    .action(({ name, expires }: { name: string; expires?: number }) =>
      withKeys((store) => createKey(store, { name, lifetime: expires, command }))
    )

  program
    .command('list')
    .description('list all keys: never the key itself, but its first characters')
    .option('--json', 'as JSON, for scripts')
    .action((options: { json?: boolean }) =>
      withKeys(async (store) =>
        show(
          await store.list(),
          ['id', 'name', 'prefix', 'created_at', 'last_used_at', 'expires_at', 'replaced_by', 'state'],
          options
        )
      )
    )

  program
    .command('rotate')
    .description('replace a key: create a new one under its name, print it, and let the old one expire')
    .argument('<id>', 'the old key', keyId)
    .addOption(
      new Option('--overlap <duration>', 'how long the old key still works; 0s ends it within a second')
        .argParser(duration)
        .default(86400, '24h')
    )
    .option(
      '--expires <duration>',
      'lifetime of the new key; without it, the one that the old key was created with',
      lifetime
    )
    .action((id: bigint, { overlap, expires }: { overlap: number; expires?: number }) =>
      withKeys((store) => rotateKey(store, { id, overlap, lifetime: expires, command }))
    )

  program
    .command('revoke')
    .description('end a key: it stops working within a second')
    .argument('<id>', 'the key', keyId)
    .action((id: bigint) =>
      withKeys(async (store) => {
        if (!(await store.revoke(id, command))) throw noSuchKey(id)
        return `Revoked key ${id}: it stops working within a second.`
      })
    )

  program
    .command('audit')
    .description('list all that was done to keys: when, to which, by which command')
    .option('--json', 'as JSON, for scripts')
    .action((options: { json?: boolean }) =>
      withKeys(async (store) => show(await store.events(), ['at', 'key_id', 'name', 'event', 'command'], options))
    )

  return program
}
