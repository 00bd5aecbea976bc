// Installs docker-compose.yml on a real engine, and rolls a new version out and
// back under load: npm run roll --prefix tools/deploy-check
import t from 'tap'
import { documentedCommands } from '../../test/support/documented-commands.ts'
import { lastLine, status } from '../../test/support/installation.ts'
import {
  configure,
  imageOfService,
  installation,
  project,
  proxyFile,
  replaces,
  upReplacesNothing
} from './compose.ts'
import { eventually } from './installation.ts'

const { documented, edit, listStatus, sh, sql, url, write } = installation

t.test('the documented commands install a fresh clone', async (t) => {
  const quickly = documentedCommands(['README.md'], 'For operators')
  installation.key = lastLine(await sh(quickly))
  await documented('Install')
  t.match(installation.key, /^petcat_[0-9a-f]{48}$/)
  for (const resource of ['/readyz', '/docs/', '/docs/guide'])
    t.equal(await status(url + resource), 200, resource)
  t.equal(await listStatus(), 200)
})

t.test('a new version rolls out and back', async (t) => {
  const last = '  default_backend api\n'
  const added = '  http-request return status 200 if { path /added }\n'
  const isLoaded = async () => (await status(`${url}/added`)) === 200
  /** Uses connections that the clients have left. */
  const onIdleConnections = () =>
    Promise.all(Array.from({ length: 30 }, () => listStatus()))
  const released = await sh(`node -p "require('./package.json').version"`)

  await replaces(t, ['api'], async () => {
    configure('VERSION', 'two')
    write(
      'migrations/9999_next.sql',
      'ALTER TABLE categories ADD COLUMN next text;\n'
    )
    edit(proxyFile, last, added + last)
    const output = await documented('Upgrade')
    t.match(output, 'To migrate: 9999_next')
    t.match(output, /proxy is not up to date[^]*deploy\/reload/)
    t.equal(await imageOfService(), `${project}:two`)
    t.equal(await sql('SELECT count(next) FROM categories'), '0')
    await onIdleConnections()
    await sh('deploy/reload')
    await eventually(isLoaded, 'the proxy has loaded its configuration')
  })

  await replaces(t, ['api'], async () => {
    configure('VERSION', released)
    edit(proxyFile, added, '')
    await documented('Roll back')
    t.same(new Set(await onIdleConnections()), new Set([200]))
    t.equal(await imageOfService(), `${project}:${released}`)
    await sh('deploy/reload')
  })
  await upReplacesNothing(t)
})
