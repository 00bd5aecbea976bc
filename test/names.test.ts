import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { apiKeyPrefix } from '../generated/names.ts'
import { makeKey, shownPartOf } from '../src/framework/keys/key.ts'
import { copyRepository } from './support/copy.ts'
import { copyData } from './support/database.ts'
import { call, run } from './support/process.ts'

/** A copy of this repository, in which other names replace those of the API. */
function copyWithNames(t: Test, names: [RegExp, string][]): string {
  const folder = copyRepository(t)

  for (const name of ['openapi.yaml', 'package.json']) {
    const file = path.join(folder, name)
    const text = names.reduce(
      (before, [old, replacement]) => before.replace(old, replacement),
      readFileSync(file, 'utf8')
    )
    writeFileSync(file, text)
  }

  return folder
}

const museum: [RegExp, string][] = [
  [/^ {2}"name": ".+"/m, '  "name": "museum-hours"'],
  [/^ {2}title: .+$/m, '  title: Museum'],
  // The first path.
  [/^ {2}\/[^{}\n]+:$/m, '  /rooms:'],
  [/x-key-prefix: .+$/m, 'x-key-prefix: museum_'],
  [/x-realm: .+$/m, 'x-realm: museum']
]

const start = ['node', 'tools/run.js', 'src/main.ts']

/** Starts the copied service, and returns what its welcome names. */
async function startCopy(t: Test, cwd: string) {
  copyData(path.join(cwd, '.data'))
  const service = run(t, start, { cwd, env: { PORT: '0' } })
  const [, url = '', key = ''] = await service.sees(
    /curl (\S+) -H 'Authorization: Bearer (museum_[0-9a-f]{48})'/
  )

  return { service, url, key, origin: new URL(url).origin }
}

t.test('every name follows openapi.yaml and package.json', async (t) => {
  const cwd = copyWithNames(t, museum)
  const generated = await call(t, ['npm', 'run', 'generate'], { cwd })
  t.equal(generated.code, 0, generated.output)

  const { service, url, key, origin } = await startCopy(t, cwd)

  t.equal(new URL(url).pathname, '/v1/rooms', 'the path of the welcome')
  const headers = { authorization: `Bearer ${key}` }
  t.equal((await fetch(url, { headers })).status, 200)

  const otherKey = { authorization: `Bearer ${makeKey()}` }
  const rejected = await fetch(url, { headers: otherKey })
  t.equal(rejected.status, 401)
  t.match(rejected.headers.get('www-authenticate'), 'realm="museum"')

  const page = await (await fetch(`${origin}/docs`)).text()
  t.match(page, '<title>Museum · development</title>')

  await fetch(`${origin}/${key}/nothing`)
  t.equal(await service.stop(), 0)
  const shownKey = key.slice(0, 'museum_'.length + 8)
  t.match(service.output(), `"path":"/${shownKey}***/nothing"`)

  const proxy = readFileSync(path.join(cwd, 'deploy/haproxy.cfg'), 'utf8')
  t.match(proxy, /request_id_with_key .* museum_/)
  t.notMatch(proxy, new RegExp(`${apiKeyPrefix}|\\(\\?:${apiKeyPrefix[0]}\\|`))

  const { output } = await call(t, [...start, '--port'], { cwd })
  t.match(output, /^museum-hours: unknown argument/)
})

t.test('`npm run generate` reports a missing name', async (t) => {
  const cwd = copyWithNames(t, [[/ +x-key-prefix: .+\n/, '']])
  const { code, output } = await call(t, ['npm', 'run', 'generate'], { cwd })
  t.equal(code, 1)
  t.match(
    output,
    'openapi.yaml: the security scheme bearerAuth needs x-key-prefix, such as petcat_'
  )
})

t.test('people recognize a key by its prefix and 8 digits', (t) => {
  t.match(shownPartOf(makeKey()), new RegExp(`^${apiKeyPrefix}[0-9a-f]{8}$`))
  t.end()
})
