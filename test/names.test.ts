import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { apiKeyPrefix } from '../generated/names.ts'
import { makeKey, shownPartOf } from '../src/api-keys/key.ts'
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

t.test(
  'every name of the API follows openapi.yaml and package.json',
  async (t) => {
    const cwd = copyWithNames(t, museum)
    const generated = await call(t, ['npm', 'run', 'generate'], { cwd })
    t.equal(generated.code, 0, generated.output)

    copyData(path.join(cwd, '.data'))
    const env = { PORT: '0' }
    const service = run(t, ['node', 'tools/run.js', 'src/main.ts'], {
      cwd,
      env
    })
    const [, url = '', key = ''] = await service.sees(
      /curl (\S+) -H 'Authorization: Bearer (museum_[0-9a-f]{48})'/
    )
    const { origin, pathname } = new URL(url)

    t.equal(pathname, '/v1/rooms')
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
    const log = service.output()
    t.match(log, `"path":"/${key.slice(0, 'museum_'.length + 8)}***/nothing"`)

    const proxy = readFileSync(path.join(cwd, 'deploy/haproxy.cfg'), 'utf8')
    t.match(proxy, /request_id_with_key .* museum_/)
    t.notMatch(
      proxy,
      new RegExp(`${apiKeyPrefix}|\\(\\?:${apiKeyPrefix[0]}\\|`)
    )

    const mistake = ['node', 'tools/run.js', 'src/main.ts', '--port']
    const { output } = await call(t, mistake, { cwd })
    t.match(output, /^museum-hours: unknown argument/)
  }
)

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
