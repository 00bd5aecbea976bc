// The proxy in front of a replica that fails. Run by
// `npm run rules --prefix tools/deploy-check`.
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  request,
  type RequestListener
} from 'node:http'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { listenOnLoopback } from '../../test/support/loopback.ts'
import { until } from '../../test/support/until.ts'
import { startHaproxy } from './haproxy.ts'

/** Starts the proxy in front of a replica that is ready. */
async function start(t: Test, onRequest: RequestListener) {
  const replica = createServer((received, response) => {
    if (received.url === '/readyz') response.end()
    else onRequest(received, response)
  })
  const port = await listenOnLoopback(t, replica)
  const { url, isReady } = await startHaproxy(t, [`http://127.0.0.1:${port}`])
  await until(isReady, 'the proxy is ready')

  return `${url}/v1/categories`
}

t.test('a request waits in the proxy for its body', async (t) => {
  const seen: (string | undefined)[] = []
  const url = await start(t, ({ method }, response) => {
    seen.push(method)
    response.end()
  })
  const headers = { 'content-length': 2 }
  const create = request(url, { agent: false, method: 'POST', headers })
  const responded = once(create, 'response')
  create.flushHeaders()
  await fetch(url)
  await fetch(url)
  t.same(seen, ['GET', 'GET'], 'it takes no place at the replica')

  create.end('{}')
  await responded
  t.same(seen, ['GET', 'GET', 'POST'])
})

t.test('what the proxy rejects does not wait for its body', async (t) => {
  const url = await start(t, () => t.fail('it reached the replica'))
  const headers = { 'content-length': 2, 'x-request-id': 'mine' }
  const sent = request(url, { agent: false, method: 'PROPFIND', headers })
  t.teardown(() => sent.destroy())
  sent.flushHeaders()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  t.match(response, { statusCode: 501, headers: { 'x-request-id': 'mine' } })
})

t.test('after a lost response, the proxy says what to repeat', async (t) => {
  const url = await start(t, ({ socket }) => socket.destroy())
  const retryAdvice = async (method: string, headers = {}) => {
    // After another request on the connection, the proxy would just close it.
    const options = { agent: false, method, headers }
    const sent = request(url, options).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    t.match(await json(response), { code: 'outcome_unknown', status: 503 })
    const { 'x-should-retry': advice, 'retry-after': time } = response.headers
    return [advice, time]
  }
  t.same(await retryAdvice('GET'), ['true', '1'])
  t.same(await retryAdvice('POST'), ['false', undefined])
  t.same(await retryAdvice('POST', { 'Idempotency-Key': 'x' }), ['true', '1'])
})
