import t, { type Test } from 'tap'
import { query } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { type OwnPostgres, startPostgres } from '../support/postgres.ts'
import { startProxy } from '../support/proxy.ts'
import { type Service, startService } from '../support/service.ts'

const create = async ({ app, auth }: Service, name: string) => {
  const response = await app.inject({ method: 'POST', url: '/v1/categories', headers: auth, payload: { name } })
  return response.json<{ code?: string }>().code ?? response.statusCode
}
const list = async ({ app, auth }: Service) => (await app.inject({ url: '/v1/categories', headers: auth })).statusCode

/** Commits wait for such a standby, when it is not ''. */
async function requireStandby({ url }: OwnPostgres, name: string) {
  await query(url, `ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
  await query(url, 'SELECT pg_reload_conf()')
}

const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
const creating = `${waiting} AND query LIKE '%INTO categories%'`

/** Resolves when a create waits for the standby. */
async function createWaits({ url }: OwnPostgres, what = 'pid') {
  while ((await query(url, `SELECT ${what} ${creating}`)).length === 0);
}

/** A service whose commits begin to wait for a standby that does not exist. */
async function startWithoutStandby(
  t: Test,
  config: { DATABASE_TIMEOUT: number; DATABASE_POOL_SIZE?: number },
  settings: Record<string, string> = {}
) {
  const postgres = await startPostgres(t, settings)
  const { lines, logger } = recorder()
  const proxy = await startProxy(t, postgres.url)
  const service = await startService(t, { databaseUrl: proxy.url, config, logger })
  t.equal(await create(service, 'before'), 201)
  await requireStandby(postgres, 'missing')
  // The server reads the setting in its own time: from the first commit that waits, all do.
  for (;;) {
    const response = create(service, 'unknown')
    const isWaiting = createWaits(postgres).then(() => 'waiting')
    if ((await Promise.race([response, isWaiting])) !== 'waiting') continue
    return { postgres, proxy, service, response, lines }
  }
}

for (const [title, end, settings] of [
  ['the service gives up', undefined],
  ['the service gives up, and the server hides warnings', undefined, { client_min_messages: 'error' }],
  ['an operator cancels it', 'pg_cancel_backend(pid)'],
  ['an operator ends it', 'pg_terminate_backend(pid)']
] as const) {
  t.test(`a create that waits for a missing standby until ${title} is an outcome_unknown`, async (t) => {
    const timeout = end === undefined ? 1000 : 60_000
    const config = { DATABASE_TIMEOUT: timeout }
    const { postgres, service, response, lines } = await startWithoutStandby(t, config, settings)
    if (end !== undefined) await query(postgres.url, `SELECT ${end} ${creating}`)
    t.equal(await response, 'outcome_unknown')
    t.equal(lines.filter(({ msg }) => msg === 'the database is unavailable for writes').length, 1)
    t.not((await query(postgres.url, "SELECT FROM categories WHERE name = 'unknown'")).length, 0, 'it is stored here')
    t.same(await query(postgres.url, `SELECT pid ${creating}`), [])
    await requireStandby(postgres, '')
    await query(postgres.url, `SELECT pg_cancel_backend(pid) ${waiting}`)
    t.equal(await create(service, 'after'), 201)
  })
}

t.test(
  'while a standby is missing lists are served, creates leave no connection behind, and both recover',
  async (t) => {
    const { postgres, service, response } = await startWithoutStandby(t, {
      DATABASE_TIMEOUT: 500,
      DATABASE_POOL_SIZE: 3
    })
    t.equal(await response, 'outcome_unknown')
    const connections = "SELECT pid FROM pg_stat_activity WHERE application_name = 'pet-categories'"
    for (let round = 0; round < 5; round++) {
      const responses = Promise.all(['a', 'b', 'c', 'd'].map((name) => create(service, name)))
      await createWaits(postgres)
      t.equal(await list(service), 200)
      t.same(new Set(await responses), new Set(['outcome_unknown']))
      t.ok((await query(postgres.url, connections)).length <= 5, 'the pool, background writes and notifications')
    }
    await requireStandby(postgres, '')
    while ((await create(service, 'after')) !== 201);
    t.equal(await list(service), 200)
  }
)

t.test('creates that hang at the server for good, as no cancellation reaches it, are bounded', async (t) => {
  const { postgres, proxy, service, response } = await startWithoutStandby(t, {
    DATABASE_TIMEOUT: 500,
    DATABASE_POOL_SIZE: 8
  })
  proxy.state.dropsCancel = true
  let code = await response
  for (let attempt = 0; attempt < 4 && code === 'outcome_unknown'; attempt++) code = await create(service, 'unknown')
  t.equal(code, 'unavailable')
  for (let round = 0; round < 3; round++) {
    t.equal(await create(service, 'rejected'), 'unavailable')
    t.equal(await list(service), 200)
  }
  t.ok((await query(postgres.url, `SELECT pid ${waiting}`)).length <= 3, 'creates, and the last use of a key')
  await requireStandby(postgres, '')
  await query(postgres.url, `SELECT pg_cancel_backend(pid) ${waiting}`)
  while ((await create(service, 'after')) !== 201);
  t.same(await query(postgres.url, "SELECT FROM categories WHERE name = 'rejected'"), [], 'none of them was sent')
})
