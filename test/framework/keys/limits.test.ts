import t, { type Test } from 'tap'
import type { Config } from '../../../src/framework/config.ts'
import { lockAwaited, lockTable } from '../../support/database.ts'
import { sample } from '../../support/metrics.ts'
import { createNote, makeKey, startNotes } from '../../support/notes.ts'
import { recorder } from '../../support/recorder.ts'
import {
  disconnected,
  listRequest,
  openConnection
} from '../http/raw-requests.ts'

/** Starts a service, with a clock that only tests advance. */
async function start(t: Test, config: Partial<Config>) {
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

  /** Lists the notes, and checks the status. An empty key is not sent. */
  async function list(status: number, apiKey = service.key, forwarded = '') {
    const response = await service.app.inject({
      url: '/v1/notes',
      headers: {
        ...(apiKey && { authorization: `Bearer ${apiKey}` }),
        ...(forwarded && { 'x-forwarded-for': forwarded })
      }
    })
    t.equal(response.statusCode, status)

    return response
  }

  /** The statements: a look-up that takes over 100 ms has up to three. */
  const lookUps = async () =>
    Number(
      await sample(
        service.app,
        'database_statement_seconds_count{statement="look-up-api-keys",outcome="ok"}'
      )
    )

  return { ...service, lookUps, lines, list, pass }
}

t.test('a key has a limit in each response, and 429 beyond it', async (t) => {
  const service = await start(t, { MAX_REQUESTS_PER_MINUTE: 3 })
  const { list, lines, pass } = service
  const responses = [
    await list(200),
    await createNote(service),
    await createNote(service, '')
  ]
  pass(30)
  responses.push(await list(429))
  for (const [index, { headers }] of responses.entries()) {
    t.equal(headers['ratelimit-policy'], '"key";q=3;w=60')
    const left = Math.max(0, 2 - index)
    t.match(headers['ratelimit'], new RegExp(`^"key";r=${left};t=\\d+$`))
  }

  const { headers, body } = await list(429)
  const seconds = Number(headers['retry-after'])
  t.ok(seconds > 20 && seconds <= 30)
  const message = 'Too many requests with this API key: retry in '
  t.match(body, `"${message}${seconds} seconds"`)
  // The end of the window, when no time remains.
  pass(29.998)
  const last = await list(429)
  t.equal(last.headers['retry-after'], '1')
  t.match(last.body, `${message}1 second"`)
  pass(1)
  for (const status of [200, 200, 200, 429, 429]) await list(status)

  t.same(
    lines.filter(({ level }) => level === 40).map(({ key }) => key),
    ['1', '1'],
    'the log names it once a minute'
  )
})

t.test('0 disables the limit and its headers', async (t) => {
  const { list } = await start(t, { MAX_REQUESTS_PER_MINUTE: 0 })
  for (let count = 0; count < 10; count++)
    t.notOk((await list(200)).headers['ratelimit'])
})

t.test('invented keys share look-ups, of which one runs', async (t) => {
  const { list, app, lookUps, databaseUrl } = await start(t, {})
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
  t.ok((await lookUps()) - before <= 2 * 3)
})

t.test('a client that leaves during its look-up is no defect', async (t) => {
  const service = await start(t, {})
  const lock = await lockTable(t, service.databaseUrl, 'api_keys')
  const bytes = listRequest({ Authorization: `Bearer ${makeKey()}` })
  const { socket } = openConnection(t, service, bytes)
  await lockAwaited(service.databaseUrl)
  socket.resetAndDestroy()
  await disconnected(service)
  await lock.release()
  await service.list(401, makeKey())

  const ofInterest = service.lines.filter(
    ({ operation, level }) => operation === 'listNotes' || Number(level) >= 50
  )
  t.same(ofInterest, [])
})

t.test('the log has what was rejected', async (t) => {
  const { list, lines, keys, pass } = await start(t, {})
  const revoked = await keys.create('revoked')
  await keys.revoke('2')
  const unknown = makeKey()
  const lastDigit = unknown.endsWith('0') ? '1' : '0'
  const mistyped = unknown.slice(0, -1) + lastDigit

  lines.length = 0
  await list(200)
  await list(401, revoked)
  for (const apiKey of ['', 'x', mistyped, unknown]) await list(401, apiKey)
  pass(60)
  await list(401, unknown)
  t.same(
    lines.map(({ key, rejected }) => [key, rejected]),
    [
      ['1', undefined],
      [undefined, 'revoked'],
      ['2', 'revoked'],
      [undefined, 'unknown']
    ],
    'requests with stored keys, and one in a minute of those with invalid keys'
  )
  t.notMatch(JSON.stringify(lines), unknown.slice(7))
})

t.test('the log has the address that the proxy tells', async (t) => {
  const { list, lines } = await start(t, {})
  for (const [forwarded, ip] of [
    ['', '127.0.0.1'],
    ['203.0.113.1, 198.51.100.3', '198.51.100.3'],
    ['2001:db8::1', '2001:db8::1']
  ] as const) {
    lines.length = 0
    await list(200, undefined, forwarded)
    t.equal(lines[0]?.['ip'], ip)
  }
})
