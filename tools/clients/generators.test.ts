// What client teams rely on, with a generator that needs more than npm and pip:
// within /v1, responses may get properties; and a mock of the document works.
import { cpSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { run } from '../../test/support/process.ts'
import { laterVersion, shellWith } from './support.ts'

t.test('openapi-generator reads one more property', async (t) => {
  const cwd = t.testdir()
  const sh = shellWith(cwd, { BASE_URL: await laterVersion(t) })
  cpSync(path.join(import.meta.dirname, 'program.go'), `${cwd}/program.go`)
  cpSync('openapi.yaml', `${cwd}/openapi.yaml`)
  const output = await sh(`
    openapi-generator-cli generate --input-spec openapi.yaml --generator-name go --output client \\
      --package-name petshop \\
      --model-name-mappings NewCategory=CategoryInput,NewPet=PetInput,NewMessage=MessageInput \\
      --additional-properties=disallowAdditionalPropertiesIfNotPresent=false
    cd client
    go run -buildvcs=false ../program.go`)
  t.match(output, /created 7$/)
})

t.test('the page of a mock is the last', async (t) => {
  const command = 'npx --yes @stoplight/prism-cli@5.14.2 mock openapi.yaml'
  await run(t, command.split(' ')).sees(/Prism is listening/)
  const headers = { Authorization: 'Bearer x' }
  const page = await fetch('http://127.0.0.1:4010/pets?limit=2', { headers })
  t.equal(page.status, 200)
  t.notMatch(page.headers.get('Link'), 'next')
})
