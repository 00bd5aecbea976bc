import t, { type Test } from 'tap'
import { query } from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { configure, startPostgres } from '../support/postgres.ts'
import { startProxy } from '../support/proxy.ts'
import * as requests from '../support/requests.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const create = (service: Service, name: string, key = {}) =>
  requests.result(requests.create(service, name, key))
const list = (service: Service) => requests.result(requests.list(service))

const postgres = await startPostgres(t)
const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
const creating = `${waiting} AND query LIKE '%INTO categories%'`
const connections =
  "SELECT pid FROM pg_stat_activity WHERE application_name = 'pet-categories'"

/**
 * Makes commits wait for the standby, unless its name is empty. Without a
 * standby, ends the waits of earlier commits.
 */
async function requireStandby(name: string) {
  await configure(postgres.url, `synchronous_standby_names = '${name}'`)
  if (name === '')
    await query(postgres.url, `SELECT pg_cancel_backend(pid) ${waiting}`)
}

/** Whether a create waits for the standby. */
const waits = async () =>
  (await query(postgres.url, `SELECT ${creating}`)).length > 0
const stored = async (name: string) =>
  (await query(postgres.url, 'SELECT FROM categories WHERE name = $1', [name]))
    .length
/** Requires no standby, and resolves when creates work again. */
async function recover(service: Service) {
  await requireStandby('')
  await until(
    async () => (await create(service, 'after')) === 201,
    'creates work again'
  )
}

/**
 * Starts a service without its standby. `response` is of a create that waits
 * for it.
 */
async function startWithoutStandby(
  t: Test,
  config: { DATABASE_TIMEOUT_MS: number; MAX_DATABASE_CONNECTIONS?: number }
) {
  t.teardown(() => requireStandby(''))
  const { lines, logger } = recorder()
  const proxy = await startProxy(t, postgres.url)
  const service = await startService(t, {
    databaseUrl: proxy.url,
    config,
    logger
  })
  t.equal(await create(service, 'before'), 201)
  await requireStandby('missing')
  // The server applies the setting a moment later: once a commit waits, all do.
  let response = create(service, 'unknown')
  const isWaiting = async () => {
    if (
      (await Promise.race([response, until(waits, 'a create waits')])) ===
      undefined
    )
      return true
    response = create(service, 'unknown')
    return false
  }
  await until(isWaiting, 'a create waits, and has no response')
  return { proxy, service, response, lines }
}

/** How the wait for a standby ends. */
interface End {
  end: string
  /** What the operator runs; otherwise, the service cancels the wait. */
  operator?: string
  /** The least important messages that the server sends. */
  messages: 'notice' | 'error'
}

const ends: End[] = [
  { end: 'the service cancels it', messages: 'notice' },
  {
    end: 'the service cancels it, and the server hides warnings',
    messages: 'error'
  },
  {
    end: 'an operator cancels it',
    operator: 'pg_cancel_backend(pid)',
    messages: 'notice'
  },
  {
    end: 'an operator ends its connection',
    operator: 'pg_terminate_backend(pid)',
    messages: 'notice'
  }
]

for (const { end, operator, messages } of ends) {
  t.test(
    `a create that waits for a missing standby until ${end} is an outcome_unknown`,
    async (t) => {
      await query(
        postgres.url,
        `ALTER DATABASE postgres SET client_min_messages = ${messages}`
      )
      const isCancelled = operator === undefined
      const config = { DATABASE_TIMEOUT_MS: isCancelled ? 1000 : 60_000 }
      const { service, response, lines } = await startWithoutStandby(t, config)
      if (operator !== undefined)
        await query(postgres.url, `SELECT ${operator} ${creating}`)
      t.equal(await response, 'outcome_unknown')
      t.equal(
        lines.filter(
          ({ msg }) => msg === 'the database is unavailable for writes'
        ).length,
        1
      )
      t.not(await stored('unknown'), 0, 'it is stored here')
      t.notOk(await waits())
      await recover(service)
    }
  )
}

t.test(
  'while a standby is missing, lists work, creates leave no connection behind, and both recover',
  async (t) => {
    const { service, response } = await startWithoutStandby(t, {
      DATABASE_TIMEOUT_MS: 1000,
      MAX_DATABASE_CONNECTIONS: 3
    })
    t.equal(await response, 'outcome_unknown')
    for (let round = 0; round < 3; round++) {
      let isWaiting = true
      const creates = Promise.all(
        ['a', 'b', 'c'].map((name) => create(service, name))
      )
      void creates.finally(() => (isWaiting = false))
      const lists = new Set<unknown>()
      while (isWaiting) lists.add(await list(service))
      t.same(
        [new Set(await creates), lists],
        [new Set(['outcome_unknown']), new Set([200])]
      )
      t.ok(
        (await query(postgres.url, connections)).length <= 4,
        'the pool and background writes'
      )
    }
    await recover(service)
  }
)

t.test(
  'a replay waits for the standby too, which may lack what it replays',
  async (t) => {
    const { service, response } = await startWithoutStandby(t, {
      DATABASE_TIMEOUT_MS: 1000
    })
    await response
    const key = { 'idempotency-key': 'key' }
    for (const which of ['the first', 'a replay']) {
      t.equal(await create(service, 'keyed', key), 'outcome_unknown', which)
      t.equal(await stored('keyed'), 1, 'it is stored here')
    }
    await requireStandby('')
    await until(
      async () => (await create(service, 'keyed', key)) === '201 replayed',
      'it is replayed'
    )
  }
)

t.test(
  'creates that no cancellation reaches are ended at the server',
  async (t) => {
    const { proxy, service, response } = await startWithoutStandby(t, {
      DATABASE_TIMEOUT_MS: 1000,
      MAX_DATABASE_CONNECTIONS: 3
    })
    proxy.state.dropsCancel = true
    for (const code of [await response, await create(service, 'unknown')])
      t.equal(code, 'outcome_unknown')
    await until(async () => !(await waits()), 'no create waits')
    t.equal(await list(service), 200)
  }
)
