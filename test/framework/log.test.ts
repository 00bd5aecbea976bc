import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { shownPartOf } from '../../src/framework/keys/key.ts'
import { createLogger } from '../../src/framework/log.ts'
import { messageOf } from '../../src/framework/message-of.ts'
import { status } from '../support/installation.ts'
import { sample } from '../support/metrics.ts'
import {
  copyData,
  lockAwaited,
  lockTable,
  temporaryFolder
} from '../support/database.ts'
import { recorder } from '../support/recorder.ts'
import {
  breakNotes,
  listNotes,
  startNotes,
  apiKeyPrefix
} from '../support/notes.ts'
import { freePort } from '../support/postgres.ts'
import { run, script } from '../support/process.ts'
import { get } from '../support/requests.ts'
import { until } from '../support/until.ts'
import {
  createRequest,
  disconnected,
  fillNotes,
  keepAlive,
  listRequest,
  openConnection,
  request,
  send
} from './http/raw-requests.ts'

/**
 * A log in a file. `end` logs a last line, and resolves with the text when it
 * is written.
 */
function logFile(t: Test) {
  const file = `${t.testdir()}/log`
  const fd = openSync(file, 'a')
  t.teardown(() => closeSync(fd))

  const log = createLogger('info', apiKeyPrefix, fd)
  const read = () => readFileSync(file, 'utf8')
  const end = async () => {
    log.info('the end')
    await until(() => read().includes('the end'), 'the log is written')
    return read()
  }

  return { log, end }
}

t.test('a line has no values of a row', async (t) => {
  const file = logFile(t)
  // As PostgreSQL puts them into an error.
  const values = {
    code: '23514',
    detail: 'Failing row contains (1103, secret-text).',
    where: 'PL/pgSQL function f(secret-text)'
  }
  file.log.error({ err: Object.assign(new Error('rejected'), values) })
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
  'a service whose stdout and stderr are full starts, serves and stops',
  async (t) => {
    const port = await freePort()
    const cwd = temporaryFolder(t)
    copyData(path.join(cwd, '.data'))
    const toFullDisk = ['sh', '-c', 'exec "$@" >/dev/full 2>&1', 'sh']
    // Without a DATABASE_URL it prints the docs and a key, too.
    const { stop } = run(t, [...toFullDisk, ...script('src/main.ts')], {
      cwd,
      env: { PORT: String(port) }
    })
    const responds = async () =>
      (await status(`http://127.0.0.1:${port}/nothing`)) === 404
    await until(() => responds().catch(() => false), 'the service responds')

    // More lines than the log gathers before it writes.
    for (let count = 0; count < 100; count++) t.ok(await responds())
    t.equal(await stop(), 0)
  }
)

const { lines, log } = recorder()
const service = await startNotes(t, { log })
t.beforeEach(() => {
  lines.length = 0
})

t.test('each request is one line, without its query', async (t) => {
  for (const url of ['/livez', '/docs', '/nothing'])
    await service.app.inject(url)
  await get(service, 'notes?token=secret')

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
  t.notMatch(JSON.stringify(lines), 'secret')
})

t.test('a request whose client leaves has a line, and counts', async (t) => {
  const { release } = await lockTable(t, service.databaseUrl, 'notes')
  const bytes = listRequest({ 'X-Request-Id': 'x' })
  const { socket } = openConnection(t, service, bytes)
  await lockAwaited(service.databaseUrl)
  socket.resetAndDestroy()
  await disconnected(service)
  await release()

  t.equal(lines.length, 1)
  t.match(lines, [{ reqId: 'x', key: '1', code: 'aborted', ip: '127.0.0.1' }])
  t.notOk('status' in Object(lines[0]))
  const aborted = 'http_errors_total{operation="listNotes",code="aborted"}'
  t.equal(await sample(service.app, aborted), 1)
})

t.test('a response that is cut off is aborted', async (t) => {
  await fillNotes(service.databaseUrl)
  const bytes = listRequest(keepAlive)
  const { socket, responded } = openConnection(t, service, bytes)
  await responded
  socket.destroy()
  await disconnected(service)
  t.match(lines, [{ operation: 'listNotes', status: 200, code: 'aborted' }])
})

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

  const documented = readFileSync('docs/logs.md', 'utf8')
  for (const field of lines.flatMap((line) => Object.keys(line)))
    t.match(documented, `\n- \`${field}\`: `)
})

/** Requests with a key, or a secret, where the log might show it. */
const requestsWith = (key: string) => [
  listRequest({ 'X-Request-Id': 'trace.$KEY~1' }),
  listRequest({ 'X-Forwarded-For': '$KEY' }),
  listRequest({ Authorization: 'Bearer x', 'X-Forwarded-For': '$KEY' }),
  request('GET /v1/notes#secret'),
  request('GET http://user:$KEY@test/v1/notes'),
  request('GET /v1/notes/$KEY'),
  request(`GET /v1/notes/${key.toUpperCase()}`),
  request('GET /$KEY/%zz'),
  createRequest(`{"name":"x","${key}":1}`),
  '$KEY\r\n\r\n'
]

t.test(
  'wherever a client sends a key, no line holds it, and none is a warning',
  async (t) => {
    const file = logFile(t)
    const logged = await startNotes(t, { log: file.log })
    for (const bytes of requestsWith(logged.key)) await send(logged, bytes)

    const written = await file.end()
    t.notOk(written.toLowerCase().includes(logged.key.slice(-20)))
    t.notMatch(written, /"level":[45]0|secret/)
    const shown = `"path":"/v1/notes/${shownPartOf(logged.key)}***`
    t.ok(written.includes(shown), 'an operator sees which key it was')
  }
)

t.test('anything that is thrown has a message', (t) => {
  // The error of a connection to a host with several addresses.
  const refused = Object.assign(new AggregateError([]), {
    code: 'ECONNREFUSED'
  })
  t.equal(messageOf(refused), 'ECONNREFUSED')
  t.equal(messageOf(undefined), 'undefined')
  t.end()
})
