// What client teams rely on, with a generator that needs more than npm and pip:
// within /v1, responses may get properties.
import { cpSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
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
