import t, { type Test } from 'tap'
import { lockAwaited, lockTable } from '../../support/database.ts'
import { successes } from '../../support/metrics.ts'
import {
  createNote,
  listNotes,
  makeKey,
  startNotes
} from '../../support/notes.ts'
import { recorder } from '../../support/recorder.ts'
import { bearer } from '../../support/requests.ts'

/** Starts a service, with a clock that only tests advance. */
async function start(t: Test, config = {}) {
  // An integer: the sum of fractions is not exact.
  const begin = Math.floor(performance.now())
  let passed = 0
  t.intercept(performance, 'now', { value: () => begin + passed })
  // A millisecond more, so that a window that ends then has ended.
  const pass = (seconds: number) => {
    passed += seconds * 1000 + 1
  }

  const { lines, log } = recorder()
  const service = await startNotes(t, { config, log })

  /** Lists the notes, and checks the status. */
  async function list(status: number, apiKey = service.key, headers = {}) {
    const response = await listNotes(service, { ...bearer(apiKey), ...headers })
    t.equal(response.statusCode, status)
    return response
  }

  return { ...service, lines, list, pass }
}

t.test('a key has a limit in each response, and 429 beyond it', async (t) => {
  const service = await start(t, { MAX_REQUESTS_PER_MINUTE: 3 })
  const { list, lines, pass } = service
  const responses = [
    await list(200),
    await createNote(service),
    await createNote(service, '')
  ]
  for (const [index, { headers }] of responses.entries()) {
    t.equal(headers['ratelimit-policy'], '"key";q=3;w=60')
    t.equal(headers['ratelimit'], `"key";r=${2 - index};t=60`)
  }

  pass(30)
  const { headers, body } = await list(429)
  t.equal(headers['ratelimit'], '"key";r=0;t=30')
  t.equal(headers['retry-after'], '30')
  t.match(body, '"Too many requests with this API key: retry in 30 seconds"')
  // The end of the window, when no time remains.
  pass(29.998)
  t.match((await list(429)).body, 'retry in 1 second"')
  pass(1)
  for (const status of [200, 200, 200, 429, 429]) await list(status)

  t.same(
    lines.filter(({ level }) => level === 40).map(({ key }) => key),
    ['1', '1'],
    'the log names it once a minute'
  )
})

t.test('invented keys share look-ups, of which one runs', async (t) => {
  const { list, app, database, databaseUrl } = await start(t)
  const lookUps = () => successes({ database }, 'look-up-api-keys')
  await list(200)
  const before = await lookUps()
  await list(200)
  t.equal(await lookUps(), before)

  const lock = await lockTable(t, databaseUrl, 'api_keys')
  const first = list(401, makeKey())
  await lockAwaited(databaseUrl)
  const others = Array.from({ length: 200 }, () => list(401, makeKey()))
  await app.inject('/livez')
  await lock.release()
  await Promise.all([first, ...others])
  // One that takes over 100 ms is started up to three times.
  t.ok((await lookUps()) - before <= 2 * 3)
})

t.test('the log has requests with a stored key, from where', async (t) => {
  const { list, lines, key, keys, pass } = await start(t)
  const revoked = await keys.create('revoked')
  await keys.revoke('2')
  const unknown = makeKey()

  lines.length = 0
  await list(200)
  const forwarded = '203.0.113.1, 198.51.100.3'
  await list(200, key, { 'x-forwarded-for': forwarded })
  await list(401, key, { authorization: 'Basic x' })
  for (const apiKey of [revoked, 'x', unknown]) await list(401, apiKey)
  pass(60)
  await list(401, unknown)

  // In a minute, it has one of the requests with invalid keys.
  const direct = '127.0.0.1'
  t.same(
    lines.map((line) => [line['key'], line['rejected'], line['ip']]),
    [
      ['1', undefined, direct],
      ['1', undefined, '198.51.100.3'],
      [undefined, 'revoked', direct],
      ['2', 'revoked', direct],
      [undefined, 'unknown', direct]
    ]
  )
  t.notMatch(JSON.stringify(lines), unknown.slice(7))
})
