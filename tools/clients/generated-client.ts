// Generates, compiles and runs a client, through a proxy that resets
// connections, and compares docs/clients.md with the result.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import tap, { type Test } from 'tap'
import { query } from '../../test/support/database.ts'
import type { Client } from './clients.ts'
import { clear, makeFolder, proxy, root, run, service } from './stage.ts'

/** Rounded by a client that parses it as a double. */
const largeId = '9223372036854770001'

/** Milliseconds that a client waits for a Retry-After of a second, at least. */
const retryAfter = 999

/** Ids that differ only if they are exact, and the category of all pets. */
const stored = `
  INSERT INTO categories (name) VALUES ('Dog');
  INSERT INTO pets (id, name, category_id, status)
  VALUES (${2n ** 53n}, 'Milo', 1, 'sold'), (${2n ** 53n + 1n}, 'Luna', 1, 'sold');
  ALTER TABLE pets ALTER COLUMN id RESTART WITH ${largeId}`

/**
 * The output of each program if it creates only once, a pet with this id, and
 * reads two pages.
 */
const transcript = (id: string) => `created ${id} Bella
listed Milo
listed Luna
listed Bella
`

export const guide = readFileSync(path.join(root, 'docs/clients.md'), 'utf8')

/** Generates and compiles a client in a new folder. Returns the folder. */
async function generateClient(t: Test, client: Client): Promise<string> {
  const { name, generate, compile } = client
  const folder = makeFolder(name)
  const tool = path.join(root, 'tools/clients')
  const program = `${tool}/programs/${name}/. ${tool}/retry/.`
  const copy = `cp -r ${program} ${root}/openapi.yaml .`
  const command = `${copy} && ${generate} && ${compile}`
  const { code, output } = await run(t, command, folder)
  t.equal(code, 0, output)

  return folder
}

/** Tests that a client creates once, and is as docs/clients.md says. */
export function testClient(client: Client): void {
  tap.test(client.name, async (t) => {
    const folder = await generateClient(t, client)
    await clear()
    await query(service.databaseUrl, stored)
    const unavailable = { status: 503, seconds: 1 }
    const exchanges = proxy.reset([unavailable, 'after', 'midway'])

    const { output } = await run(t, client.run, folder)
    const isExact = output.includes(largeId)
    const id = isExact ? largeId : String(Number(largeId))
    t.match(output, new RegExp(`${transcript(id)}$`))
    const [busy, again] = exchanges
    const waited = Number(again?.time) - Number(busy?.time)
    t.ok(waited >= retryAfter, `it waited ${waited} ms for Retry-After`)

    const int64 = isExact ? 'exact' : 'rounded beyond 2^53'
    const [row = ''] = guide.match(`\\| \\[${client.name}\\].*`) ?? []
    t.match(row, `| ${int64} `)
    t.match(guide, client.generate)

    const rejected = proxy.reset([{ status: 501 }])
    await run(t, client.run, folder)
    t.equal(rejected.length, 1, 'a 501 is final')
  })
}
