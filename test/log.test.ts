import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { prefixOf } from '../src/api-keys/key.ts'
import { createLogger, oneLine } from '../src/log.ts'
import { breakCategories } from './support/database.ts'
import { status } from './support/installation.ts'
import { recorder } from './support/log.ts'
import { freePort } from './support/postgres.ts'
import { serve } from './support/process.ts'
import { startService } from './support/service.ts'
import { until } from './support/until.ts'
import { create, list, request, send } from './http/raw.ts'

/** A log in a file. `end` logs a last line, and resolves with the text when it is written. */
function logFile(t: Test, isTTY = false) {
  const file = `${t.testdir()}/log`
  const fd = openSync(file, 'a')
  t.teardown(() => closeSync(fd))
  const logger = createLogger('info', { fd, isTTY })
  const end = () => {
    logger.info('the end')
    return untilHas(file, 'the end')
  }
  return { logger, end }
}

async function untilHas(
  file: string,
  text: string,
  log = () => {}
): Promise<string> {
  const read = () => (log(), readFileSync(file, 'utf8'))
  await until(() => read().includes(text), `the log has ${text}`)
  return read()
}

t.test('the log is JSON, and readable on a terminal', async (t) => {
  for (const isTTY of [false, true]) {
    const { logger, end } = logFile(t, isTTY)
    logger.info({ status: 201 }, 'request')
    const [line = ''] = (await end()).split('\n')
    if (isTTY) t.match(line, /INFO.*request/)
    else t.match(JSON.parse(line), { level: 30, status: 201, msg: 'request' })
  }
})

t.test(
  'lines are written in the order they were logged, however many',
  async (t) => {
    const { logger, end } = logFile(t)
    const numbers = Array.from({ length: 5000 }, (_, number) => number)
    for (const number of numbers) {
      logger.info({ number })
      // Some are logged while others are being written.
      if (number % 500 === 0) await sleep(1)
    }
    const written = [...(await end()).matchAll(/"number":(\d+)/g)].map(
      ([, number]) => Number(number)
    )
    t.same(written, numbers)
  }
)

t.test(
  'the log of a full disk waits, keeps 16 MiB at most, and is written when there is room again',
  async (t) => {
    const fd = openSync('/dev/full', 'a')
    const logger = createLogger('info', { fd })
    logger.info('first')
    // Longer than the log waits before it writes.
    await sleep(300)
    const padding = 'x'.repeat(1000)
    for (let count = 0; count < 20_000; count++) logger.info(padding)
    logger.info(`dropped${padding}`)

    const file = `${t.testdir()}/log`
    reopen(fd, file)
    // Until the first write has ended, there is no room for another line.
    const log = await untilHas(file, 'last', () => logger.info('last'))
    t.ok(log.includes('first'))
    t.notOk(log.includes('dropped'))
    t.ok(
      log.length > 2 ** 23 && log.length < 2 ** 24 + 100_000,
      `${log.length} characters`
    )
  }
)

/** Makes the file descriptor one of the file: a closed one is given out again when it is the lowest that is free. */
function reopen(fd: number, file: string): void {
  closeSync(fd)
  for (let attempt = 0; attempt < 100; attempt++)
    if (openSync(file, 'a') === fd) return
  throw new Error(`the file descriptor ${fd} is in use`)
}

t.test(
  'a service whose stdout and stderr are full starts, serves and stops',
  async (t) => {
    const port = await freePort()
    const file = openSync('/dev/full', 'a')
    t.teardown(() => closeSync(file))
    // Without a DATABASE_URL it prints the docs and a key, too.
    const { stop } = serve(t, { PORT: String(port) }, t.testdir(), file)
    const responds = async () =>
      (await status(`http://127.0.0.1:${port}/nothing`)) === 404
    await until(() => responds().catch(() => false), 'the service responds')
    // More lines than the log gathers before it writes.
    for (let count = 0; count < 100; count++) t.ok(await responds())
    await sleep(300)
    t.ok(await responds())
    t.equal(await stop(), 0)
  }
)

t.test(
  'the log has a line per request without secrets or probes, and the cause of an internal error',
  async (t) => {
    const { lines, logger } = recorder()
    const config = { CORS_ORIGINS: 'https://app.example' }
    const {
      app,
      auth: headers,
      databaseUrl
    } = await startService(t, { logger, config })
    lines.length = 0
    for (const quiet of ['/livez', '/docs']) await app.inject(quiet)
    await app.inject({
      method: 'OPTIONS',
      url: '/v1/categories',
      headers: { origin: config.CORS_ORIGINS }
    })
    await app.inject({ url: '/v1/categories?token=secret', headers })
    await breakCategories(databaseUrl)
    const failed = await app.inject({ url: '/v1/categories', headers })
    t.match(failed.json(), { code: 'internal_error', status: 500 })

    const request = {
      msg: 'request',
      method: 'GET',
      path: '/v1/categories',
      operation: 'listCategories',
      key: '1'
    }
    const reqId = failed.headers['x-request-id']
    t.equal(lines.length, 4)
    t.match(lines, [
      { msg: 'request', method: 'OPTIONS', status: 204 },
      { ...request, level: 30, status: 200, ms: Number, ip: '127.0.0.1' },
      {
        level: 50,
        reqId,
        msg: 'internal_error',
        err: { message: 'division by zero' }
      },
      { ...request, reqId, status: 500 }
    ])
    t.notMatch(JSON.stringify(lines), /secret|petcat_[0-9a-f]/)
  }
)

t.test('no line holds a key, wherever a client sends it', async (t) => {
  const { logger, end } = logFile(t)
  const service = await startService(t, {
    logger,
    config: { TRUST_PROXY: '1' }
  })
  const { key } = service
  const get = (path: string, headers = {}) =>
    request(`GET ${path}`, { Authorization: undefined, ...headers })
  const sent: Record<string, [bytes: string, status: number]> = {
    'a valid key': [list(), 200],
    'another scheme': [list({ Authorization: 'Basic $KEY' }), 401],
    'the path': [get('/v1/categories/$KEY'), 404],
    'the path, twice': [get(`/$KEY/${key.toUpperCase()}`), 404],
    'the path, encoded': [get(`/${key.replace('_', '%5F')}`), 404],
    'a malformed path': [get('/$KEY/%zz'), 400],
    'the query': [get('/v1/categories?key=$KEY'), 401],
    'an absolute URI': [get('http://user:$KEY@test/nothing'), 404],
    'the request id': [
      get('/v1/categories', { 'X-Request-Id': 'trace.$KEY~1' }),
      401
    ],
    'the client address': [
      get('/v1/categories', { 'X-Forwarded-For': '$KEY' }),
      401
    ],
    'a malformed Host': [get('/', { Host: '$KEY@test' }), 400],
    'a malformed body': [create(`{"name":${key}}`), 400],
    'an unknown property': [create(`{"name":"x","${key}":1}`), 400],
    'the method': [request('$KEY /'), 400],
    'no HTTP at all': ['$KEY\r\n\r\n', 400]
  }
  for (const [place, [bytes, status]] of Object.entries(sent)) {
    t.equal((await send(service, bytes)).status, status, place)
  }
  const log = await end()
  t.notOk(log.toLowerCase().includes(key.slice(-20)))
  // An operator sees which key it was.
  for (const target of ['/v1/categories/', 'http://user:'])
    t.ok(log.includes(`"path":"${target}${prefixOf(key)}***`))
})

t.test(
  'an error is shown by its message, or by its code when it has none',
  (t) => {
    t.equal(oneLine(new Error('broken')), 'broken')
    t.equal(
      oneLine(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })),
      'ECONNREFUSED'
    )
    t.end()
  }
)
