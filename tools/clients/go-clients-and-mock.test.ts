// What client teams rely on, with generators that need more than npm and pip:
// within /v1, responses may get properties; and a mock of the document works.
import { cpSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { spawnProcess } from '../../test/support/process.ts'
import { laterVersion, venvShellIn } from './support.ts'

/** How to generate and compile each client, and to run its program. */
const clients = {
  'oapi-codegen': `
    mkdir client
    go tool oapi-codegen -config config.yaml openapi.yaml
    go run -buildvcs=false .`,
  'openapi-generator': `
    openapi-generator-cli generate --input-spec openapi.yaml --generator-name go --output client \\
      --package-name petshop \\
      --model-name-mappings NewCategory=CategoryInput,NewPet=PetInput,NewMessage=MessageInput \\
      --additional-properties=disallowAdditionalPropertiesIfNotPresent=false
    cd client
    go run -buildvcs=false ../program.go`
}

for (const [name, commands] of Object.entries(clients)) {
  t.test(`${name} reads a response with one more property`, async (t) => {
    const cwd = t.testdir()
    cpSync(path.join(import.meta.dirname, name), cwd, { recursive: true })
    cpSync('openapi.yaml', path.join(cwd, 'openapi.yaml'))
    const sh = venvShellIn(cwd, { BASE_URL: await laterVersion(t) })
    t.match(await sh(commands), /created 7$/)
  })
}

t.test('the mock sends no Link to a next page', async (t) => {
  const command = 'npx --yes @stoplight/prism-cli@5.14.2 mock openapi.yaml'
  await spawnProcess(t, command.split(' ')).waitForOutput(/Prism is listening/)
  const headers = { Authorization: 'Bearer x' }
  const page = await fetch('http://127.0.0.1:4010/pets?limit=2', { headers })
  t.equal(page.status, 200)
  t.notMatch(page.headers.get('Link'), 'next')
})
