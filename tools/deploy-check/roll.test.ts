// Installs docker-compose.yml on a real engine, and rolls a new version out and
// back under load: npm run roll --prefix tools/deploy-check
import { rmSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { documentedCommands } from '../../test/support/documented-commands.ts'
import { lastLine, status } from '../../test/support/installation.ts'
import {
  compose,
  imageOfService,
  installation,
  proxyFile,
  replaces
} from './compose.ts'
import { eventually } from './installation.ts'

const { documented, edit, folder, incident, newKey } = installation
const { read, serves, sh, sql, url, write } = installation

t.test('the documented commands install a fresh clone', async (t) => {
  const quickly = documentedCommands(['README.md'], 'For operators')
  t.match(lastLine(await sh(quickly)), /^petcat_[0-9a-f]{48}$/)
  await documented('Install')
  installation.key = read('secrets/first_api_key').trim()
  for (const resource of ['/readyz', '/docs/', '/docs/guide'])
    t.equal(await status(url + resource), 200, resource)
  t.ok(await serves())
})

t.test('a new version rolls out and back', async (t) => {
  const last = '  default_backend api\n'
  const added = '  http-request return status 200 if { path /added }\n'
  const isLoaded = async () => (await status(`${url}/added`)) === 200
  const next = 'migrations/9999_next.sql'
  const leaked = await newKey()
  t.ok(await serves(leaked))
  const image = await imageOfService()

  await replaces(t, ['api'], async () => {
    write(next, 'ALTER TABLE categories ADD COLUMN next text;\n')
    edit(proxyFile, last, added + last)
    const output = await documented('Upgrade')
    t.match(output, 'To migrate: 9999_next')
    t.match(output, /proxy is not up to date[^]*deploy\/reload/)
    t.equal(await sql('SELECT count(next) FROM categories'), '0')
    await sh('deploy/reload')
    await eventually(isLoaded, 'the proxy has loaded its configuration')
  })
  const KEY = leaked.slice(0, 15)
  const used = await incident('key leaked', 0, { KEY })
  t.match(used, '"ip":', 'the logs of removed containers are kept')

  await replaces(t, ['api'], async () => {
    rmSync(path.join(folder, next))
    edit(proxyFile, added, '')
    await sh('docker image prune --force')
    await documented('Roll back')
    t.equal(await imageOfService(), image, 'nothing was built')
    await sh('deploy/reload')
  })
  await replaces(t, [], () => compose('up -d --wait'))
})
