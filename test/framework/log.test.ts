import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { text as readAll } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { shownPartOf } from '../../src/framework/keys/key.ts'
import { createLogger, messageOf } from '../../src/framework/log.ts'
import { status } from '../support/installation.ts'
import { recorder } from '../support/recorder.ts'
import {
  breakNotes,
  listNotes,
  startNotes,
  apiKeyPrefix
} from '../support/notes.ts'
import { freePort } from '../support/postgres.ts'
import { run, script, serve } from '../support/process.ts'
import { get } from '../support/requests.ts'
import { until } from '../support/until.ts'
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

  const log = createLogger('info', apiKeyPrefix, { fd, isTTY })
  const end = () => {
    log.info('the end')
    return untilHas(file, 'the end')
  }

  return { log, end }
}

/**
 * Resolves with the text of the file when it has `text`.
 *
 * @param log is called before each look at the file
 */
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
    const { log, end } = logFile(t, isTTY)
    log.info({ status: 201 }, 'request')

    const [line = ''] = (await end()).split('\n')
    if (isTTY) t.match(line, /INFO.*request/)
    else t.match(JSON.parse(line), { level: 30, status: 201, msg: 'request' })
  }
})

t.test('no line holds the values of a row that an error has', async (t) => {
  const { log, end } = logFile(t)
  const properties = {
    code: '23514',
    detail: 'Failing row contains (1103, secret-text).',
    where: 'PL/pgSQL function f(secret-text)'
  }
  log.error({ err: Object.assign(new Error('rejected'), properties) })
  const text = await end()
  t.match(text, '23514')
  t.notMatch(text, 'secret-text')
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
  'the log of a full disk keeps up to 16 MiB, and writes it when there is room again',
  async (t) => {
    const fd = openSync('/dev/full', 'a')
    const log = createLogger('info', apiKeyPrefix, { fd })
    log.info('first')
    // Longer than the log waits before it writes.
    await sleep(300)

    const padding = 'x'.repeat(1000)
    for (let count = 0; count < 20_000; count++) log.info(padding)
    log.info(`dropped${padding}`)

    const file = `${t.testdir()}/log`
    reopen(fd, file)

    // Until the first write has ended, there is no room for another line.
    const written = await untilHas(file, 'last', () => log.info('last'))
    t.ok(written.includes('first'))
    t.notOk(written.includes('dropped'))
    t.ok(written.length > 2 ** 23, `${written.length} characters`)
    t.ok(written.length < 2 ** 24 + 100_000, `${written.length} characters`)
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

/** A service whose `lines` are those since it started. */
async function startRecorded(t: Test, config = {}) {
  const { lines, log } = recorder()
  const service = await startNotes(t, { log, config })
  lines.length = 0

  return { service, lines }
}

/** The fields of every request for the list with the key of the service. */
const listLine = {
  msg: 'request',
  method: 'GET',
  path: '/v1/notes',
  operation: 'listNotes',
  key: '1'
}

t.test('each request is one line, without its query or key', async (t) => {
  const { service, lines } = await startRecorded(t)
  const { statusCode } = await get(service, 'notes?token=secret')
  t.equal(statusCode, 400)

  t.equal(lines.length, 1)
  t.match(lines, [
    {
      ...listLine,
      level: 30,
      status: 400,
      code: 'invalid_request',
      ms: Number,
      ip: '127.0.0.1'
    }
  ])
  t.notMatch(
    JSON.stringify(lines),
    new RegExp(`secret|${apiKeyPrefix}[0-9a-f]`)
  )
})

t.test('a preflight is logged, and a probe or the docs are not', async (t) => {
  const origin = 'https://app.example'
  const { service, lines } = await startRecorded(t, { CORS_ORIGINS: origin })
  const { app } = service

  for (const quiet of ['/livez', '/docs']) await app.inject(quiet)
  await app.inject({
    method: 'OPTIONS',
    url: '/v1/notes',
    headers: { origin }
  })

  t.equal(lines.length, 1)
  t.match(lines, [{ msg: 'request', method: 'OPTIONS', status: 204 }])
})

t.test('the cause of an internal error is logged, not sent', async (t) => {
  const { service, lines } = await startRecorded(t)
  await breakNotes(service.databaseUrl)
  const failed = await listNotes(service)
  const cause = 'division by zero'
  t.match(failed.json(), { code: 'internal_error', status: 500 })
  t.notMatch(failed.body, cause)

  const reqId = failed.headers['x-request-id']
  t.equal(lines.length, 2)
  t.match(lines, [
    { level: 50, reqId, msg: 'internal_error', err: { message: cause } },
    { ...listLine, reqId, status: 500, code: 'internal_error' }
  ])
})

/** The fields of the first table in docs/logs.md. */
const documentedFields = () =>
  [...readFileSync('docs/logs.md', 'utf8').matchAll(/^\| `(\w+)` /gm)].map(
    ([, field]) => field
  )

t.test('docs/logs.md explains each field of a request', async (t) => {
  const { service, lines } = await startRecorded(t)
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  await service.app.inject({ url: '/v1/notes', headers: { traceparent } })
  await breakNotes(service.databaseUrl)
  await listNotes(service)

  const fields = new Set(documentedFields())
  const logged = lines.flatMap((line) => Object.keys(line))
  t.ok(logged.includes('trace_id'))
  for (const field of logged) t.ok(fields.has(field), field)
})

t.test('what a client causes is neither a warning nor an error', async (t) => {
  const { service, lines } = await startRecorded(t)

  for (const { bytes } of Object.values(requestsWith(service.key)))
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
  const { log, end } = logFile(t)
  const config = { TRUST_PROXY: '1' }
  const service = await startNotes(t, { log, config })
  const { key } = service

  for (const [place, attempt] of Object.entries(requestsWith(key)))
    t.equal((await send(service, attempt.bytes)).status, attempt.status, place)

  const written = await end()
  t.notOk(written.toLowerCase().includes(key.slice(-20)))
  // An operator sees which key it was.
  for (const target of ['/v1/tags/', 'http://user:'])
    t.ok(written.includes(`"path":"${target}${shownPartOf(key)}***`))
})

/** Bytes with a key in them, and the status of the response. */
interface Attempt {
  bytes: string
  status: number
}

/** Requests with a key, by the place of the key. */
const requestsWith = (key: string): Record<string, Attempt> => ({
  ...requestsWithKeyInPath(key),
  ...requestsWithKeyInHeaders,
  ...requestsWithKeyInBody(key),
  'the method': { bytes: request('$KEY /'), status: 400 },
  'no HTTP at all': { bytes: '$KEY\r\n\r\n', status: 400 }
})

const getAnonymously = (path: string, headers = {}) =>
  request(`GET ${path}`, { Authorization: undefined, ...headers })

/** A character of a path, percent-encoded without need. */
const encoded = (character = '') => `%${character.charCodeAt(0).toString(16)}`

/** Unknown paths that hold the key, by how they write it. */
const pathsWith = (key: string) => ({
  'the path': '/v1/tags/$KEY',
  'the path, twice': `/$KEY/${key.toUpperCase()}`,
  'the path, its underscore encoded': `/${key.replace('_', '%5F')}`,
  'the path, a letter encoded': `/${key.replace('e', '%65')}`,
  'the path, a letter encoded twice': `/${key.replace('t', '%2554')}`,
  'the path, its digits encoded': `/${key.replace(
    /_./,
    (text) => `_${encoded(text[1])}`
  )}`,
  'an absolute URI': 'http://user:$KEY@test/none'
})

function requestsWithKeyInPath(key: string): Record<string, Attempt> {
  const requests: Record<string, Attempt> = {
    'a malformed path': { bytes: getAnonymously('/$KEY/%zz'), status: 400 },
    'the query': { bytes: getAnonymously('/v1/notes?key=$KEY'), status: 401 }
  }

  for (const [place, path] of Object.entries(pathsWith(key)))
    requests[place] = { bytes: getAnonymously(path), status: 404 }

  return requests
}

const requestsWithKeyInHeaders: Record<string, Attempt> = {
  'a valid key': { bytes: listRequest(), status: 200 },
  'another scheme': {
    bytes: listRequest({ Authorization: 'Basic $KEY' }),
    status: 401
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
  }
}

const requestsWithKeyInBody = (key: string): Record<string, Attempt> => ({
  'a malformed body': { bytes: createRequest(`{"name":${key}}`), status: 400 },
  'an unknown property': {
    bytes: createRequest(`{"name":"x","${key}":1}`),
    status: 400
  }
})

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
