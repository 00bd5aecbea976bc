// Runs the code samples in samples/, and the shell samples of docs/clients.md,
// against the service. Generates, compiles and runs each client, through a
// proxy that resets connections, and compares docs/clients.md with the result.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { api } from '../../src/handlers/index.ts'
import { query } from '../../test/support/database.ts'
import { type Client, clients } from './clients.ts'
import type { Fault } from './proxy.ts'
import { languages, trySample } from './samples.ts'
import {
  baseUrl,
  clear,
  makeFolder,
  proxy,
  restore,
  root,
  run,
  service
} from './stage.ts'

/** Rounded by a client that parses it as a double. */
const largeId = '9223372036854770001'

/** Milliseconds that a client waits for a Retry-After of a second, at least. */
const retryAfter = 999

/** The output of each program if it creates only once, with this id. */
const transcript = (id: string) => `created ${id} Rabbit
listed ${id} Rabbit
rejected 400 invalid_request
`

/** What happens to each attempt of the create, before it succeeds. */
const faults: Fault[] = ['busy', 'before', 'after', 'midway']

const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
const guide = read('docs/clients.md')
const { operations } = readApiDocument(api.openapiFile)

for (const extension of Object.keys(languages) as (keyof typeof languages)[]) {
  t.test(`samples (${extension})`, async (t) => {
    await restore(t)
    const folder = makeFolder('samples')
    for (const operation of operations) {
      await t.test(operation.id, (t) =>
        trySample(t, operation, extension, folder)
      )
    }
  })
}

/** A block of shell commands, with the block of text that may follow it. */
const shellBlocks = /^```sh\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm

/** The section with the clients, which are tested below. */
const generators = /^## Generators$[^]*?^## /m

const escapePattern = (text: string) =>
  text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

t.test('the commands of the guide print what it shows', async (t) => {
  await restore(t)
  proxy.reset()
  const folder = makeFolder('guide')
  const blocks = guide.replace(generators, '').matchAll(shellBlocks)
  for (const [, source = '', shown] of blocks) {
    const command = source
      .replace('https://api.petstore.example/v1', baseUrl)
      .replace('petcat_…', service.key)
    const { code, output } = await run(t, command, folder)
    t.equal(code, 0, source + output)

    // A `…` stands for any text in a line. curl may show its progress before.
    const parts = shown?.trimEnd().split('…').map(escapePattern)
    if (parts) t.match(output, new RegExp(`^${parts.join('.*')}$`, 'm'), source)
  }
})

t.test('the guide has the program and the versions of this test', (t) => {
  const program = read('tools/clients/programs/openapi-fetch/program.ts')
  // The imports, the client and a create.
  t.match(guide, program.split('\n\n').slice(0, 3).join('\n\n'))

  const pins = [
    'package.json',
    'tools/clients/package.json',
    'tools/clients/requirements.in',
    'tools/clients/programs/oapi-codegen/go.mod'
  ]
    .map(read)
    .join()
  const [section = ''] = generators.exec(guide) ?? []
  for (const [version] of section.matchAll(/\d+\.\d+\.\d+/g))
    t.match(pins, version)
  t.end()
})

/** Generates and compiles a client in a new folder. Returns the folder. */
async function generateClient(t: Test, client: Client): Promise<string> {
  const { name, helper, generate, compile } = client
  const folder = makeFolder(name)
  const tool = path.join(root, 'tools/clients')
  const program = `${tool}/programs/${name}/. ${tool}/retry/${helper}`
  const copy = `cp -r ${program} ${root}/openapi.yaml .`
  const command = `${copy} && ${generate} && ${compile}`
  const { code, output } = await run(t, command, folder)
  t.equal(code, 0, output)

  return folder
}

for (const client of clients) {
  t.test(client.name, async (t) => {
    const folder = await generateClient(t, client)
    await clear()
    await query(
      service.databaseUrl,
      `ALTER TABLE categories ALTER COLUMN id RESTART WITH ${largeId}`
    )
    const exchanges = proxy.reset(faults)

    const { output } = await run(t, client.run, folder)
    const isExact = output.includes(largeId)
    const id = isExact ? largeId : String(Number(largeId))
    t.match(output, transcript(id))
    const [busy, again] = exchanges
    const waited = Number(again?.time) - Number(busy?.time)
    t.ok(waited >= retryAfter, `it waited ${waited} ms for Retry-After`)

    const int64 = isExact ? 'exact' : 'rounded beyond 2^53'
    const [row = ''] = guide.match(`\\| \\[${client.name}\\].*`) ?? []
    t.match(row, `| ${int64} `)
    t.match(guide, client.generate)
  })
}
