// Compares the service with its OpenAPI document, by Schemathesis. Fails if a
// response is not as documented, or if Schemathesis warns that it cannot test
// something.
import { randomInt } from 'node:crypto'
import path from 'node:path'
import t from 'tap'
import { call, script } from '../../test/support/process.ts'
import { startService } from '../../test/support/service.ts'

const seed = process.env['SEED'] ?? randomInt(2 ** 31)

t.test(`the service responds as documented (seed ${seed})`, async (t) => {
  const { url, key, databaseUrl } = await startService(t)
  // Without pets and orders, most requests would get a 404.
  const env = { DATABASE_URL: databaseUrl }
  const seeding = await call(t, script('tools/seed.ts'), { env })
  t.match(seeding, { code: 0, output: /^Added / }, seeding.output)

  const config = path.resolve(import.meta.dirname, 'schemathesis.toml')
  const command = [
    path.resolve('.venv/bin/schemathesis'),
    `--config-file=${config}`,
    'run',
    `${url}/openapi.yaml`,
    '--checks=all',
    `--seed=${seed}`
  ]
  const { code, output } = await call(t, command, {
    cwd: t.testdir(),
    env: { BASE_URL: `${url}/v1`, API_KEY: key }
  })
  t.equal(code, 0, output)
})
