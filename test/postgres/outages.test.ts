import t from 'tap'
import { KeyVerifier } from '../../src/api-keys/verifier.ts'
import { makeKey } from '../../src/api-keys/key.ts'
import { KeyStore } from '../../src/api-keys/store.ts'
import { Database } from '../../src/postgres/database.ts'
import {
  createDatabase,
  createRoles,
  lockAwaited,
  lockTable,
  query
} from '../support/database.ts'
import { recorder } from '../support/log.ts'
import { startPostgres } from '../support/postgres.ts'
import * as requests from '../support/requests.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const create = (service: Service) => requests.result(requests.create(service))
const list = (service: Service) => requests.result(requests.list(service))
const send = (service: Service) =>
  requests.result(requests.post(service, 'messages', { message: 'x' }))

/** What the log says of outages, except of background writes. */
const outagesIn = (lines: Record<string, unknown>[]) =>
  lines
    .map(({ msg }) => String(msg))
    .filter((msg) => /unavailable|again|ready/.test(msg))
    .filter((msg) => !msg.includes('background'))

const postgres = await startPostgres(t)

t.test('the log shows the begin and end of an outage once', async (t) => {
  const { lines, logger } = recorder()
  const service = await startService(t, { databaseUrl: postgres.url, logger })
  const probe = async () => (await service.app.inject('/readyz')).statusCode
  await create(service)
  await postgres.kill()
  t.match(
    await create(service),
    /^(unavailable|outcome_unknown)$/,
    'its connection may have seemed to be open'
  )
  const results = async () => [
    await create(service),
    await probe(),
    await probe(),
    await list(service)
  ]
  t.same(await results(), ['unavailable', 503, 503, 'unavailable'])

  await postgres.start()
  t.same(await results(), [201, 200, 200, 200])
  const isLogged = async () => {
    await list(service)
    return outagesIn(lines).join().includes('again for reads')
  }
  await until(isLogged, 'the end is logged')

  const reported = outagesIn(lines)
  t.equal(new Set(reported).size, reported.length)
  // Whether a create gets as far as its write depends on when its key was
  // looked up.
  const notOfWrites = reported.filter((msg) => !msg.includes('writes'))
  t.same(notOfWrites.sort(), [
    'not ready',
    'ready',
    'the database is available again for reads',
    'the database is unavailable for reads'
  ])
})

t.test('an outdated prepared statement is replaced', async (t) => {
  const service = await startService(t, {
    config: { MAX_DATABASE_CONNECTIONS: 1 }
  })
  const pets = () => requests.result(requests.get(service, 'pets'))
  t.equal(await pets(), 200)

  // The type of the cursor in its result changes with the type of the id.
  await query(service.databaseUrl, 'ALTER TABLE pets ALTER id TYPE integer')
  t.equal(await pets(), 'unavailable')
  t.equal(await pets(), 200)
  t.equal(await create(service), 201)
})

t.test('a table that stays locked is one outage in the log', async (t) => {
  const { lines, logger } = recorder()
  const service = await startService(t, {
    logger,
    config: { DATABASE_TIMEOUT_MS: 300 }
  })
  await lockTable(t, service.databaseUrl, 'categories')

  for (let round = 0; round < 3; round++) {
    t.equal(await create(service), 'unavailable')
    // The other table works.
    const isStored = async () => (await send(service)) === 202
    await until(isStored, 'a message is stored')
  }

  const ofWrites = outagesIn(lines).filter((msg) => msg.includes('writes'))
  t.same(ofWrites, ['the database is unavailable for writes'])
})

/** What is missing for the service, until it is repaired. */
const faultsOf = (role: string) => [
  {
    make: 'ALTER TABLE categories RENAME TO later',
    repair: 'ALTER TABLE later RENAME TO categories'
  },
  {
    make: 'ALTER TABLE categories RENAME description TO later',
    repair: 'ALTER TABLE categories RENAME later TO description'
  },
  {
    make: `REVOKE ALL ON categories FROM ${role}`,
    repair: `GRANT SELECT, INSERT ON categories TO ${role}`
  }
]

t.test('the log explains missing migrations and grants', async (t) => {
  const { lines, logger } = recorder()
  const { owner, service: databaseUrl } = await createRoles(t)
  const service = await startService(t, { databaseUrl, logger })
  const role = new URL(databaseUrl).username

  for (const { make, repair } of faultsOf(role)) {
    await query(owner, make)
    t.equal(await list(service), 'unavailable')
    t.equal(await create(service), 'unavailable')

    await query(owner, repair)
    t.equal(await list(service), 200)
    t.equal(await create(service), 201)
  }

  const cause = 'migrations or grants may be missing'
  t.same(outagesIn(lines), [
    `the database is unavailable for reads: ${cause}`,
    `the database is unavailable for writes: ${cause}`
  ])
  t.notOk(lines.some(({ msg }) => msg === 'internal_error'))
})

t.test('a service that stops in a look-up logs no outage', async (t) => {
  const { lines, logger } = recorder()
  const databaseUrl = await createDatabase(t)
  const database = new Database(
    databaseUrl,
    { MAX_DATABASE_CONNECTIONS: 2, DATABASE_TIMEOUT_MS: 60_000 },
    logger
  )
  const verifier = new KeyVerifier(new KeyStore(database))
  const lock = await lockTable(t, databaseUrl, 'api_keys')
  const check = verifier.check(makeKey())
  await lockAwaited(databaseUrl)

  const closing = database.close()
  await lock.release()
  t.match(await check, { state: 'unknown' })
  await closing
  t.same(outagesIn(lines), [])
})
