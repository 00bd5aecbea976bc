import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { shownPartOf } from '../../src/framework/keys/key.ts'
import { createLogger } from '../../src/framework/log.ts'
import { messageOf } from '../../src/framework/message-of.ts'
import { status } from '../support/installation.ts'
import { sample } from '../support/metrics.ts'
import { recorder } from '../support/recorder.ts'
import {
  breakNotes,
  listNotes,
  startNotes,
  apiKeyPrefix
} from '../support/notes.ts'
import { freePort } from '../support/postgres.ts'
import { script, serve } from '../support/process.ts'
import { get } from '../support/requests.ts'
import { until } from '../support/until.ts'
import {
  abortList,
  createRequest,
  disconnected,
  fillNotes,
  keepAlive,
  listRequest,
  openConnection,
  request,
  send
} from './http/raw-requests.ts'

/** Resolves with the text of the file when it has `text`. */
async function untilHas(file: string, text: string): Promise<string> {
  const read = () => readFileSync(file, 'utf8')
  await until(() => read().includes(text), `the log has ${text}`)
  return read()
}

/**
 * A log in a file. `end` logs a last line, and resolves with the text when it
 * is written.
 */
function logFile(t: Test) {
  const file = `${t.testdir()}/log`
  const fd = openSync(file, 'a')
  t.teardown(() => closeSync(fd))

  const log = createLogger('info', apiKeyPrefix, fd)
  const end = () => {
    log.info('the end')
    return untilHas(file, 'the end')
  }

  return { log, end }
}

/** Values of a row, as PostgreSQL puts them into an error. */
const values = {
  detail: 'Failing row contains (1103, secret-text).',
  where: 'PL/pgSQL function f(secret-text)'
}

t.test('a line has no values of a row', async (t) => {
  const file = logFile(t)
  const error = Object.assign(new Error('rejected'), values)
  file.log.error({ err: Object.assign(error, { code: '23514' }) })
  const text = await file.end()
  t.match(text, /^{"level":50,.*"code":"23514".*"msg":"rejected"}/)
  t.notMatch(text, 'secret-text')
})

t.test('a process exits although nobody reads its log', async (t) => {
  const [program = '', ...args] = script('test/support/log-and-exit.ts')
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  t.same(await once(child, 'exit'), [0, null])
  child.stdout.destroy()
})

t.test(
  'the log of a full disk keeps 16 MiB, and writes it when it can',
  async (t) => {
    const fd = openSync('/dev/full', 'a')
    const full = createLogger('info', apiKeyPrefix, fd)
    full.info('first')
    const padding = 'x'.repeat(1000)
    for (let count = 0; count < 20_000; count++) full.info(padding)
    full.info(`dropped${padding}`)

    // The lowest file descriptor that is free is used again.
    const file = `${t.testdir()}/log`
    closeSync(fd)
    while (openSync(file, 'a') !== fd);

    // Until the first write has ended, there is no room for another line.
    const hasLast = () => {
      full.info('last')
      return readFileSync(file, 'utf8').includes('last')
    }
    await until(hasLast, 'the log is written')
    const written = readFileSync(file, 'utf8')
    t.ok(written.includes('first'))
    t.notOk(written.includes('dropped'))
    t.ok(written.length > 2 ** 23)
    t.ok(written.length < 2 ** 24 + 100_000)
  }
)

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
    t.equal(await stop(), 0)
  }
)

const origin = 'https://app.example'
const { lines, log: recording } = recorder()
const service = await startNotes(t, {
  log: recording,
  config: { CORS_ORIGINS: origin }
})
t.beforeEach(() => {
  lines.length = 0
})

t.test('each request is one line, without its query or key', async (t) => {
  const { app } = service
  const preflight = { method: 'OPTIONS', url: '/v1/notes' } as const

  for (const path of ['/livez', '/docs', '/nothing']) await app.inject(path)
  await get(service, 'notes?token=secret')
  await app.inject({ ...preflight, headers: { origin } })

  t.equal(lines.length, 1, 'only requests to the API are logged')
  t.match(lines, [
    {
      msg: 'request',
      method: 'GET',
      path: '/v1/notes',
      operation: 'listNotes',
      key: '1',
      level: 30,
      status: 400,
      code: 'invalid_request',
      ms: Number,
      ip: '127.0.0.1'
    }
  ])
  const text = JSON.stringify(lines)
  t.notMatch(text, new RegExp(`secret|${apiKeyPrefix}[0-9a-f]`))
})

t.test('a request whose client leaves has a line, and counts', async (t) => {
  await abortList(t, service, { 'X-Request-Id': 'x' })

  t.equal(lines.length, 1)
  t.match(lines, [
    {
      reqId: 'x',
      operation: 'listNotes',
      code: 'aborted',
      key: '1',
      ip: '127.0.0.1'
    }
  ])
  t.notOk('status' in Object(lines[0]))
  const aborted = 'http_errors_total{operation="listNotes",code="aborted"}'
  t.equal(await sample(service.app, aborted), 1)
})

t.test('a response that is cut off is aborted', async (t) => {
  await fillNotes(service)
  const bytes = listRequest(keepAlive)
  const { socket, responded } = openConnection(t, service, bytes)
  await responded
  socket.destroy()
  await disconnected(service)
  t.match(lines, [{ operation: 'listNotes', status: 200, code: 'aborted' }])
})

/** The fields that docs/logs.md lists. */
const documentedFields = () =>
  [...readFileSync('docs/logs.md', 'utf8').matchAll(/^- `(\w+)`: /gm)].map(
    ([, field]) => field
  )

t.test('the cause of an internal error is logged, not sent', async (t) => {
  await breakNotes(service.databaseUrl)
  const failed = await listNotes(service)
  const cause = 'division by zero'
  t.match(failed.json(), { code: 'internal_error', status: 500 })
  t.notMatch(failed.body, cause)

  const ids = { reqId: failed.headers['x-request-id'] }
  t.equal(lines.length, 2)
  t.match(lines, [
    { ...ids, level: 50, msg: 'internal_error', err: { message: cause } },
    { ...ids, msg: 'request', status: 500, code: 'internal_error' }
  ])

  const fields = new Set(documentedFields())
  for (const field of lines.flatMap((line) => Object.keys(line)))
    t.ok(fields.has(field), `docs/logs.md explains ${field}`)
})

const anonymously = (path: string, headers = {}) =>
  request(`GET ${path}`, { Authorization: undefined, ...headers })

/** Requests with a key in different places, by the status of the response. */
const requestsWith = (key: string) => ({
  200: [
    listRequest(),
    request('GET /v1/notes?', { 'X-Forwarded-For': '$KEY' }),
    request('GET http://user:$KEY@test/v1/notes')
  ],
  400: [
    anonymously('/$KEY/%zz'),
    anonymously('/%zz', { Host: '$KEY test' }),
    createRequest(`{"name":${key}}`),
    createRequest(`{"name":"x","${key}":1}`),
    request('GET /v1/notes/$KEY/replies'),
    request(`GET /v1/notes/${key.toUpperCase()}/replies`),
    request('$KEY /'),
    '$KEY\r\n\r\n'
  ],
  401: [
    anonymously('/v1/notes?key=$KEY'),
    anonymously('/v1/notes', { Authorization: 'Basic $KEY' }),
    anonymously('/v1/notes', { 'X-Request-Id': 'trace.$KEY~1' }),
    anonymously('/v1/notes', { 'X-Forwarded-For': '$KEY' }),
    anonymously('/v1/notes#secret')
  ],
  405: [request('PATCH /v1/notes')]
})

t.test(
  'wherever a client sends a key, no line holds it, and none is a warning',
  async (t) => {
    const file = logFile(t)
    const logged = await startNotes(t, { log: file.log })
    const { key } = logged

    for (const [expected, requests] of Object.entries(requestsWith(key)))
      for (const bytes of requests)
        t.equal((await send(logged, bytes)).status, Number(expected), bytes)

    const written = await file.end()
    t.notOk(written.toLowerCase().includes(key.slice(-20)))
    t.notMatch(written, /"level":[45]0|secret/)
    // An operator sees which key it was.
    for (const target of ['/v1/notes/', 'http://user:'])
      t.ok(written.includes(`"path":"${target}${shownPartOf(key)}***`))
  }
)

/** What can be thrown, by its message. */
const thrown = {
  // A connection error.
  ECONNREFUSED: Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }),
  undefined: undefined
}

t.test('anything that is thrown has a message', (t) => {
  for (const [message, error] of Object.entries(thrown))
    t.equal(messageOf(error), message)
  t.end()
})
