// An upgrade of an installation with Docker Compose from the last release, and
// the way back, by the commands of docs/operations.md and under load. Run by
// `npm run compose-upgrade --prefix tools/deploy-check`. Takes some minutes.
import t, { type Test } from 'tap'
import { lastLine } from '../../test/support/installation.ts'
import { createKeyed } from '../../test/support/resend.ts'
import { ComposeInstallation } from './compose-installation.ts'
import { FreshClone } from './fresh-clone.ts'
import { lastRelease } from './last-release.ts'
import { outage } from './under-load.ts'

const project = 'petcat-compose-upgrade'
const url = 'http://127.0.0.1:3911'
const environment = {
  ...process.env,
  COMPOSE_PROJECT_NAME: project,
  PUBLISH: '127.0.0.1:3911:8080',
  IMAGE: project,
  MAX_REQUESTS_PER_MINUTE: '0',
  // Other work may share the processors.
  DATABASE_TIMEOUT_MS: '20000'
}

const clone = new FreshClone('docs/operations.md', environment)
const { sh, documented } = clone
const installation = new ComposeInstallation(clone, url)

const remove = `
  docker compose down --volumes --remove-orphans --timeout 1
  docker image ls -q $IMAGE | sort -u | xargs -r docker image rm -f
`

/** Checks out a version, as an operator does. */
async function checkOut(version: 'current' | 'released'): Promise<void> {
  await sh(`git checkout -q ${version}`)
  installation.configure('VERSION', version)
}

t.before(async () => {
  // What a run that was cut off has left.
  await sh(remove)
  await clone.commit(lastRelease())
})
t.teardown(async () => {
  await sh(remove)
  clone.remove()
})

let key = ''
const created = (name: string) =>
  createKeyed({ url, key, resource: 'categories' }, name, name)

t.test('the last release is installed by its own commands', async () => {
  await sh('git checkout -q released')
  await sh('cp deploy/production.env .env')
  installation.configure('VERSION', 'released')
  await sh('deploy/secrets && docker compose up -d --wait')
  key = lastLine(await documented('Install', 1))
})

/** Runs commands while clients create, see `underLoad`. */
const underLoad = (t: Test, run: () => Promise<unknown>, expected?: string[]) =>
  installation.underLoad(t, key, run, expected)

/** The commands that deploy/roll suggests in its output. */
const suggestions = (output: string) => output.match(/^ +docker compose .+/gm)

t.test('an upgrade fails no request', async (t) => {
  const original = await created('before')
  let suggested: string[] | null = []
  await underLoad(t, async () => {
    await checkOut('current')
    suggested = suggestions(await documented('Upgrade'))
  })
  t.same(await created('before'), { ...original, isReplayed: true })

  const services = suggested?.map((command) => command.split(' ').at(-1))
  t.same(new Set(services), new Set(['db', 'proxy']))
  const replace = async () => {
    for (const command of new Set(suggested)) await sh(command)
  }
  await underLoad(t, replace, outage)
  t.notMatch(await documented('Check'), 'not up to date')
  await installation.upReplacesNothing(t)
})

t.test('the way back fails no request', async (t) => {
  const original = await created('after')
  await underLoad(t, async () => {
    await checkOut('released')
    await documented('Roll back')
  })
  t.same(await created('after'), { ...original, isReplayed: true })

  const restart = () => sh('docker compose restart proxy')
  await underLoad(t, restart, outage)
})

t.test('a second upgrade fails no request', async (t) => {
  await underLoad(t, async () => {
    await checkOut('current')
    await documented('Upgrade')
  })
  await installation.upReplacesNothing(t)
})
