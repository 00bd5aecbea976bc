import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { prefixOf } from '../src/api-keys/key.ts'
import { createLogger, oneLine } from '../src/log.ts'
import { freePort } from './support/postgres.ts'
import { run, script } from './support/process.ts'
import { parseRaw, sendRaw, startService } from './support/service.ts'
import { until } from './support/until.ts'

/** A log in a file, and its text once the text has the pattern. */
function logFile(t: Test, isTTY: boolean) {
  const file = `${t.testdir()}/log`
  const fd = openSync(file, 'a')
  t.teardown(() => closeSync(fd))
  return { logger: createLogger('info', { fd, isTTY }), has: (pattern: RegExp) => fileHas(file, pattern) }
}

async function fileHas(file: string, pattern: RegExp): Promise<string> {
  await until(() => pattern.test(readFileSync(file, 'utf8')), `the log has ${pattern}`)
  return readFileSync(file, 'utf8')
}

t.test('the log is JSON, and readable on a terminal', async (t) => {
  for (const isTTY of [false, true]) {
    const { logger, has } = logFile(t, isTTY)
    logger.info({ status: 201 }, 'request')
    const line = await has(/request/)
    if (isTTY) t.match(line, /INFO.*request/)
    else t.match(JSON.parse(line), { level: 30, status: 201, msg: 'request' })
  }
})

t.test('lines are written in the order they were logged, however many', async (t) => {
  const { logger, has } = logFile(t, false)
  const numbers = Array.from({ length: 5000 }, (_, number) => number)
  for (const number of numbers) {
    logger.info({ number })
    // Some are logged while others are being written.
    if (number % 500 === 0) await sleep(1)
  }
  const lines = (await has(/"number":4999/)).trimEnd().split('\n')
  t.same(
    lines.map((line) => (JSON.parse(line) as { number: number }).number),
    numbers
  )
})

t.test('the log of a full disk waits, keeps 16 MiB at most, and is written when there is room again', async (t) => {
  const fd = openSync('/dev/full', 'a')
  const logger = createLogger('info', { fd })
  logger.info('first')
  // Longer than the log waits before it writes.
  await sleep(300)
  const padding = 'x'.repeat(1000)
  for (let count = 0; count < 20_000; count++) logger.info(padding)
  logger.info(`dropped${padding}`)

  const file = `${t.testdir()}/log`
  const opened = reopen(fd, file)
  t.teardown(() => opened.forEach(closeSync))
  await fileHas(file, /x/)
  logger.info('last')
  const log = await fileHas(file, /last/)
  t.ok(log.includes('first'))
  t.notOk(log.includes('dropped'))
  t.ok(log.length > 2 ** 23 && log.length < 2 ** 24 + 1000, `${log.length} characters`)
})

/** Makes the file descriptor one of the file: a closed one is given out again when it is the lowest that is free. */
function reopen(fd: number, file: string): number[] {
  closeSync(fd)
  const opened: number[] = []
  for (let attempt = 0; attempt < 100; attempt++) {
    opened.push(openSync(file, 'a'))
    if (opened.at(-1) === fd) return opened
  }
  throw new Error(`the file descriptor ${fd} is in use`)
}

t.test('a service whose stdout and stderr are full starts, serves and stops', async (t) => {
  const port = await freePort()
  const file = openSync('/dev/full', 'a')
  t.teardown(() => closeSync(file))
  // Without a DATABASE_URL it prints the docs and a key, too.
  const { child, exited } = run(t, script('src/main.ts'), { cwd: t.testdir(), env: { PORT: String(port) }, file })
  const url = `http://127.0.0.1:${port}`
  const status = () =>
    fetch(`${url}/nothing`).then(
      (response) => response.status,
      () => 0
    )
  await until(async () => (await status()) === 404, 'the service responds')
  // More lines than the log gathers before it writes.
  for (let count = 0; count < 100; count++) t.equal(await status(), 404)
  await sleep(300)
  t.equal(await status(), 404)
  child.kill('SIGTERM')
  t.equal(await exited, 0)
})

t.test('no line holds a key, wherever a client sends it', async (t) => {
  const { logger, has } = logFile(t, false)
  const { port, key } = await startService(t, { logger, config: { TRUST_PROXY: '1' } })
  const digits = key.slice('petcat_'.length)
  const encoded = `${digits.slice(0, 20)}%${Buffer.from(digits.slice(20, 21)).toString('hex')}${digits.slice(21)}`
  const request = (target: string, ...headers: string[]) =>
    [`GET ${target} HTTP/1.1`, 'Host: test', ...headers, 'Connection: close', '', ''].join('\r\n')
  const withBody = (body: string) =>
    request(
      '/v1/categories',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`
    )
      .replace('GET', 'POST')
      .concat(body)
  const sent: Record<string, [bytes: string, status: number]> = {
    'a valid key': [request('/v1/categories', `Authorization: Bearer ${key}`), 200],
    'another scheme': [request('/v1/categories', `Authorization: Basic ${key}`), 401],
    'the path': [request(`/${key}`), 404],
    'the path, twice': [request(`/v1/categories/${key}/${key.toUpperCase()}`), 404],
    'the path, a digit encoded': [request(`/petcat%5F${encoded}`), 404],
    'the path, encoded twice': [request(`/%2570etcat%255F${encoded.replace('%', '%25')}`), 404],
    'the digits alone': [request(`/${digits}`, `X-Request-Id: ${digits}`), 404],
    'a malformed path': [request(`/${key}/%zz`), 400],
    'the query': [request(`/v1/categories?key=${key}`), 401],
    'the user of an absolute URI': [request(`http://${key}@test/v1/categories`), 401],
    'the password of an absolute URI': [request(`http://user:${key}@test/nothing`), 404],
    'a part of the request id': [request('/v1/categories', `X-Request-Id: trace.${key}~1`), 401],
    'the client address': [request('/v1/categories', `X-Forwarded-For: ${key}`), 401],
    Expect: [request('/v1/categories', `Expect: ${key}`), 401],
    'a malformed Host': [request('/v1/categories').replace('Host: test', `Host: ${key}@test`), 400],
    'a malformed body': [withBody(`{"name":${key}}`), 400],
    'an unknown property': [withBody(`{"name":"x","${key}":1}`), 400],
    'the method': [request('/v1/categories').replace('GET', key), 400],
    'no HTTP at all': [`${key}\r\n\r\n`, 400]
  }
  for (const [place, [bytes, status]] of Object.entries(sent)) {
    const { headers, ...answer } = parseRaw(await sendRaw(port, bytes))
    t.equal(answer.status, status, place)
    t.notOk(headers['x-request-id']?.includes(digits), place)
  }
  logger.info('the end')
  const log = await has(/the end/)
  t.notOk(log.toLowerCase().includes(digits))
  t.notOk(log.includes(digits.slice(-20)))
  // An operator sees which key it was.
  for (const target of ['/', '/v1/categories/', 'http://', 'http://user:']) {
    t.ok(log.includes(`"path":"${target}${prefixOf(key)}***`), target)
  }
})

t.test('an error is shown by its message, or by its code when it has none', (t) => {
  t.equal(oneLine(new Error('broken')), 'broken')
  t.equal(oneLine(Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })), 'ECONNREFUSED')
  t.end()
})
