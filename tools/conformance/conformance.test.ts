// Compares the service with its OpenAPI document, by Schemathesis. Fails if a
// response is not as documented, or if Schemathesis warns that it cannot test
// something. Its output names the seed, for `--seed` in a run by hand.
import path from 'node:path'
import t from 'tap'
import { runToEnd, scriptArgv } from '../../test/support/process.ts'
import { startService } from '../../test/support/service.ts'

t.test('the service responds as documented', async (t) => {
  const { url, apiKey, databaseUrl } = await startService(t)
  // Without pets and orders, most requests would get a 404, which is a warning.
  const env = { DATABASE_URL: databaseUrl }
  await runToEnd(t, scriptArgv('tools/seed.ts'), { env })

  const config = path.resolve(import.meta.dirname, 'schemathesis.toml')
  const command = [
    path.resolve('.venv/bin/schemathesis'),
    `--config-file=${config}`,
    'run',
    `${url}/openapi.yaml`,
    '--checks=all'
  ]
  const { code, output } = await runToEnd(t, command, {
    cwd: t.testdir(),
    env: { BASE_URL: `${url}/v1`, API_KEY: apiKey }
  })
  t.equal(code, 0, output)
})
