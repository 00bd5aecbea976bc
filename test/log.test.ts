import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { apiKeyPrefix } from '../generated/names.ts'
import { shownPartOf } from '../src/api-keys/key.ts'
import { createLogger, messageOf } from '../src/log.ts'
import { status } from './support/installation.ts'
import { recorder } from './support/recorder.ts'
import { breakNotes, startNotes } from './support/notes.ts'
import { freePort } from './support/postgres.ts'
import { run, script, serve } from './support/process.ts'
import { until } from './support/until.ts'
import {
  createRequest,
  listRequest,
  request,
  send
} from './http/raw-requests.ts'

/**
 * A log in a file. `end` logs a last line, and resolves with the text when it
 * is written.
 */
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

/** Resolves with the text of the file when it has `text`. */
async function untilHas(
  file: string,
  text: string,
  log = () => {}
): Promise<string> {
  const read = () => readFileSync(file, 'utf8')
  const hasText = () => {
    log()
    return read().includes(text)
  }
  await until(hasText, `the log has ${text}`)
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

t.test('lines are written in the order they were logged', async (t) => {
  const { logger, end } = logFile(t)
  const numbers = Array.from({ length: 5000 }, (_, number) => number)
  for (const number of numbers) {
    logger.info({ number })
    // Some are logged while others are being written.
    if (number % 500 === 0) await sleep(1)
  }
  t.same(numbersIn(await end()), numbers)
})

/** The numbers that were logged. */
const numbersIn = (log: string) =>
  [...log.matchAll(/"number":(\d+)/g)].map(([, number]) => Number(number))

/** A process that logs 3,000 lines and exits. */
const logLines = script('test/support/log-and-exit.ts')

t.test('a process that exits loses no line of a slow reader', async (t) => {
  const [program = '', ...args] = logLines
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  await once(child.stderr, 'data')
  // The exit finds a pipe that is full. Without this, it may find room.
  await sleep(300)
  const log = await readAll(child.stdout)
  t.equal(numbersIn(log).length, 3000)
  t.same(numbersIn(log), [...Array(3000).keys()])
})

t.test('a process exits although nobody reads its log', async (t) => {
  const [program = '', ...args] = logLines
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  const [code] = (await once(child, 'exit')) as [number]
  t.equal(code, 0)
  child.stdout.destroy()
})

t.test('a process exits although its disk is full', async (t) => {
  const file = openSync('/dev/full', 'a')
  const { exited } = run(t, logLines, { file })
  t.equal(await exited, 0)
  closeSync(file)
})

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

/**
 * Makes the file descriptor one of the file: a closed one is given out again
 * when it is the lowest that is free.
 */
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
    } = await startNotes(t, { logger, config })
    lines.length = 0
    for (const quiet of ['/livez', '/docs']) await app.inject(quiet)
    await app.inject({
      method: 'OPTIONS',
      url: '/v1/notes',
      headers: { origin: config.CORS_ORIGINS }
    })
    await app.inject({ url: '/v1/notes?token=secret', headers })
    await breakNotes(databaseUrl)
    const failed = await app.inject({ url: '/v1/notes', headers })
    t.match(failed.json(), { code: 'internal_error', status: 500 })

    const line = {
      msg: 'request',
      method: 'GET',
      path: '/v1/notes',
      operation: 'listNotes',
      key: '1'
    }
    const reqId = failed.headers['x-request-id']
    t.equal(lines.length, 4)
    t.match(lines, [
      { msg: 'request', method: 'OPTIONS', status: 204 },
      {
        ...line,
        level: 30,
        status: 400,
        code: 'invalid_request',
        ms: Number,
        ip: '127.0.0.1'
      },
      {
        level: 50,
        reqId,
        msg: 'internal_error',
        err: { message: 'division by zero' }
      },
      { ...line, reqId, status: 500, code: 'internal_error' }
    ])
    t.notMatch(
      JSON.stringify(lines),
      new RegExp(`secret|${apiKeyPrefix}[0-9a-f]`)
    )
  }
)

/** The fields of the first table in docs/logs.md. */
const documentedFields = () =>
  [...readFileSync('docs/logs.md', 'utf8').matchAll(/^\| `(\w+)` /gm)].map(
    ([, field]) => field
  )

t.test('docs/logs.md explains each field of a request', async (t) => {
  const { lines, logger } = recorder()
  const { app, auth, databaseUrl } = await startNotes(t, { logger })
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  lines.length = 0
  await app.inject({ url: '/v1/notes', headers: { traceparent } })
  await breakNotes(databaseUrl)
  await app.inject({ url: '/v1/notes', headers: auth })

  const fields = new Set(documentedFields())
  const logged = lines.flatMap((line) => Object.keys(line))
  t.ok(logged.includes('trace_id'))
  for (const field of logged) t.ok(fields.has(field), field)
})

t.test('what a client causes is no warning and no error', async (t) => {
  const { lines, logger } = recorder()
  const service = await startNotes(t, { logger })
  const { key } = service

  for (const { bytes } of Object.values(requestsWith(key)))
    await send(service, bytes)
  await send(service, request('PATCH /v1/notes'))
  await send(service, createRequest('{"name":1}'))

  const codes = lines.map(({ code }) => code)
  t.ok(codes.includes('invalid_request'))
  t.ok(codes.includes('method_not_allowed'))
  t.same(
    lines.filter(({ level }) => Number(level) > 30),
    []
  )
})

t.test('no line holds a key, wherever a client sends it', async (t) => {
  const { logger, end } = logFile(t)
  const config = { TRUST_PROXY: '1' }
  const service = await startNotes(t, { logger, config })
  const { key } = service

  for (const [place, attempt] of Object.entries(requestsWith(key)))
    t.equal((await send(service, attempt.bytes)).status, attempt.status, place)

  const log = await end()
  t.notOk(log.toLowerCase().includes(key.slice(-20)))
  // An operator sees which key it was.
  for (const target of ['/v1/tags/', 'http://user:'])
    t.ok(log.includes(`"path":"${target}${shownPartOf(key)}***`))
})

const anonymous = { Authorization: undefined }

const getAnonymously = (path: string, headers = {}) =>
  request(`GET ${path}`, { ...anonymous, ...headers })

/** Requests with a key, by the place of the key, and their statuses. */
const requestsWith = (key: string) => ({
  'a valid key': { bytes: listRequest(), status: 200 },
  'another scheme': {
    bytes: listRequest({ Authorization: 'Basic $KEY' }),
    status: 401
  },
  'the path': { bytes: getAnonymously('/v1/tags/$KEY'), status: 404 },
  'the path, twice': {
    bytes: getAnonymously(`/$KEY/${key.toUpperCase()}`),
    status: 404
  },
  'the path, its underscore encoded': {
    bytes: getAnonymously(`/${key.replace('_', '%5F')}`),
    status: 404
  },
  'the path, a letter encoded': {
    bytes: getAnonymously(`/${key.replace('e', '%65')}`),
    status: 404
  },
  'the path, a letter encoded twice': {
    bytes: getAnonymously(`/${key.replace('t', '%2554')}`),
    status: 404
  },
  'the path, its digits encoded': {
    bytes: getAnonymously(
      `/${key.replace(/_./, (text) => `_${encoded(text[1])}`)}`
    ),
    status: 404
  },
  'a malformed path': { bytes: getAnonymously('/$KEY/%zz'), status: 400 },
  'the query': { bytes: getAnonymously('/v1/notes?key=$KEY'), status: 401 },
  'an absolute URI': {
    bytes: getAnonymously('http://user:$KEY@test/none'),
    status: 404
  },
  'the request id': {
    bytes: getAnonymously('/v1/notes', { 'X-Request-Id': 'trace.$KEY~1' }),
    status: 401
  },
  'the client address': {
    bytes: getAnonymously('/v1/notes', { 'X-Forwarded-For': '$KEY' }),
    status: 401
  },
  'a malformed Host': {
    bytes: getAnonymously('/', { Host: '$KEY@test' }),
    status: 400
  },
  'a malformed body': { bytes: createRequest(`{"name":${key}}`), status: 400 },
  'an unknown property': {
    bytes: createRequest(`{"name":"x","${key}":1}`),
    status: 400
  },
  'the method': { bytes: request('$KEY /'), status: 400 },
  'no HTTP at all': { bytes: '$KEY\r\n\r\n', status: 400 }
})

const encoded = (character = '') => `%${character.charCodeAt(0).toString(16)}`

t.test(
  'an error is shown by its message, or by its code when it has none',
  (t) => {
    t.equal(messageOf(new Error('broken')), 'broken')
    t.equal(
      messageOf(
        Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
      ),
      'ECONNREFUSED'
    )
    t.end()
  }
)
