// What client teams rely on, with generators that need more than npm and pip:
// within /v1, responses may get properties; and a mock of the document works.
import { cpSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import t, { type Test } from 'tap'
import { listenOnLoopback } from '../../test/support/loopback.ts'
import { run } from '../../test/support/process.ts'
import { sh } from './support.ts'

/** How to generate and compile each client, and to run its program. */
const clients = {
  typescript: `
    openapi-typescript openapi.yaml --output client/schema.ts --default-non-nullable=false
    tsc --project .
    node --import tsx program.ts`,
  python: `
    openapi-python-client generate --path openapi.yaml --meta none --output-path client
    python program.py`,
  go: `
    mkdir client
    go tool oapi-codegen -config config.yaml openapi.yaml
    go run -buildvcs=false .`,
  'openapi-generator': `
    openapi-generator-cli generate --input-spec openapi.yaml --generator-name go --output client \\
      --git-user-id example --git-repo-id petshop --package-name petshop \\
      --model-name-mappings NewCategory=CategoryInput,NewPet=PetInput,NewMessage=MessageInput \\
      --additional-properties=disallowAdditionalPropertiesIfNotPresent=false
    mkdir client/program
    mv program.go client/program
    cd client
    go run -buildvcs=false ./program`
}

/** Runs the program of a client, which lists pets, on a port. */
function runClient(t: Test, name: keyof typeof clients, port: number) {
  const cwd = t.testdir()
  cpSync(path.join(import.meta.dirname, name), cwd, { recursive: true })
  cpSync('openapi.yaml', path.join(cwd, 'openapi.yaml'))
  const env = { BASE_URL: `http://127.0.0.1:${port}`, API_KEY: 'x' }
  return sh(t, clients[name], cwd, env)
}

const pet = {
  id: 3,
  name: 'Bella',
  categoryId: 1,
  status: 'sold',
  addedLater: 'x'
}

for (const name of Object.keys(clients) as (keyof typeof clients)[]) {
  t.test(`${name} reads a response with one more property`, async (t) => {
    const server = createServer((_request, response) => {
      response.setHeader('Content-Type', 'application/json')
      response.end(JSON.stringify([pet]))
    })
    const port = await listenOnLoopback(t, server)
    t.match(await runClient(t, name, port), /listed Bella\n$/)
  })
}

t.test('the pages of a mock end', async (t) => {
  const port = 4010
  const prism = run(t, [
    ...['npx', '--yes', '@stoplight/prism-cli@5.14.2'],
    ...['mock', '--port', String(port), 'openapi.yaml']
  ])
  await prism.sees(/Prism is listening/)
  for (const name of ['typescript', 'python'] as const) {
    const output = await runClient(t, name, port)
    t.match(output, /listed Bella\nlisted Milo\nlisted Luna\n$/)
  }
})
