// Runs the code samples in samples/, the shell samples of docs/clients.md, and
// the generated clients against the service.
import { copyFileSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { readApiDocument } from '../../src/framework/openapi/document.ts'
import { api } from '../../src/handlers/index.ts'
import { clients } from './clients.ts'
import { guide, testClient } from './generated-client.ts'
import { fetchWithRetries } from './retry/retry.ts'
import { languages, trySample } from './samples.ts'
import {
  baseUrl,
  makeFolder,
  proxy,
  restore,
  root,
  run,
  service
} from './stage.ts'

const read = (file: string) => readFileSync(path.join(root, file), 'utf8')
const { operations } = readApiDocument(api.openapiFile)

for (const [extension, program] of Object.entries(languages)) {
  t.test(`samples (${extension})`, async (t) => {
    await restore(t)
    const folder = makeFolder('samples')
    for (const operation of operations) {
      await t.test(operation.id, (t) =>
        trySample(t, operation, extension, program, folder)
      )
    }
  })
}

/** A block of shell commands, with the block of text that may follow it. */
const shellBlocks = /^```sh\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm

/** The section with the clients, which are tested below. */
const generators = /^## Generators$[^]*?^## /m

t.test('the commands of the guide print what it shows', async (t) => {
  await restore(t)
  proxy.reset()
  const folder = makeFolder('guide')
  copyFileSync(`${root}/openapi.yaml`, `${folder}/openapi.yaml`)
  const blocks = guide.replace(generators, '').matchAll(shellBlocks)
  for (const [, source = '', shown = ''] of blocks) {
    const command = source
      .replace('https://api.petstore.example/v1', baseUrl)
      .replace('petcat_…', service.key)
    const { code, output } = await run(t, command, folder)
    t.equal(code, 0, source + output)

    // A `…` stands for the rest of its line. curl may show its progress before.
    const lines = shown.trimEnd().split('\n')
    const printed = output
      .trimEnd()
      .split(/[\r\n]+/)
      .slice(-lines.length)
    for (const [index, line] of lines.entries())
      t.ok(printed[index]?.startsWith(line.replace(/….*/, '')), line)
  }
})

t.test('the guide has the program and the versions of this test', (t) => {
  const [, program = 'none'] = /^```ts\n([^]*?)^```$/m.exec(guide) ?? []
  t.match(read('tools/clients/programs/openapi-fetch/program.ts'), program)

  const pins = [
    'package.json',
    'tools/clients/package.json',
    'tools/clients/requirements.in',
    'tools/clients/programs/oapi-codegen/go.mod'
  ].map(read)
  const [section = ''] = generators.exec(guide) ?? []
  for (const [version] of section.matchAll(/\d+\.\d+\.\d+/g))
    t.match(pins.join(), version)
  t.end()
})

for (const client of clients) testClient(client)

t.test('a pause before a retry ends with its request', async (t) => {
  proxy.reset([{ status: 503, seconds: 3600 }])
  const signal = AbortSignal.timeout(500)
  await t.rejects(fetchWithRetries(baseUrl, { signal }), {
    name: 'TimeoutError'
  })
})
