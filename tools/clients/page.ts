import { readFileSync } from 'node:fs'
import path from 'node:path'
import { format, resolveConfig } from 'prettier'
import { type Client, clients } from './clients.ts'

/** The version of a generator, from the file that pins it. */
export const versionOf = (root: string, { pin: [file, version] }: Client) =>
  version.exec(readFileSync(path.join(root, file), 'utf8'))?.[1] ?? ''

/** The text with `content` between the comments of this name. */
function insert(text: string, name: string, content: string): string {
  const [start, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`]

  return text.replace(
    new RegExp(`${start}[^]*${end}`),
    () => `${start}\n\n${content}\n${end}`
  )
}

const fence = (language: string, lines: string[]) =>
  `\`\`\`${language}\n${lines.join('\n')}\n\`\`\`\n`

/**
 * The page docs/clients.md with these rows of the table, the commands of all
 * clients and the start of a program.
 */
export async function pageWith(
  root: string,
  page: string,
  rows: string[]
): Promise<string> {
  const table = [
    '| client | language | version | int64 | typed errors | retries |',
    '| - | - | - | - | - | - |',
    ...rows
  ]
  // Generators that are installed in the same way are listed together.
  const commands = [...new Set(clients.map(({ install }) => install))].flatMap(
    (install) => {
      const same = clients.filter((client) => client.install === install)
      const prefix = install.startsWith('npm') ? 'npx ' : ''

      return [
        install.replace('VERSION', versionOf(root, same[0]!)),
        ...same.map(({ generate }) => prefix + generate),
        ''
      ]
    }
  )
  const program = readFileSync(
    path.join(root, 'tools/clients/programs/openapi-fetch/program.ts'),
    'utf8'
  )
  // The imports, the client and a create.
  const start = program.split('\n\n').slice(0, 3)
  const file = path.join(root, page)
  const text = insert(
    readFileSync(file, 'utf8'),
    'clients',
    `${table.join('\n')}\n\n${fence('sh', commands.slice(0, -1))}`
  )
  const after = insert(
    text,
    'client program',
    fence('ts', [start.join('\n\n')])
  )

  return format(after, { ...(await resolveConfig(file)), parser: 'markdown' })
}
