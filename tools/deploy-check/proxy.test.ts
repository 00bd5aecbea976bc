// The proxy in front of a replica that fails. Run by
// `npm run rules --prefix tools/deploy-check`.
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import t from 'tap'
import { listenOnLoopback } from '../../test/support/loopback.ts'
import { until } from '../../test/support/until.ts'
import { startHaproxy } from './haproxy.ts'

t.test('after a lost response, the proxy says what to repeat', async (t) => {
  const replica = createServer(({ url, socket }, response) => {
    if (url === '/readyz') response.end()
    else socket.destroy()
  })
  const port = await listenOnLoopback(t, replica)
  const { url } = await startHaproxy(t, [`http://127.0.0.1:${port}`])
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false
    )
  await until(isReady, 'the proxy is ready')

  const retryAdvice = async (method: string, headers = {}) => {
    // After another request on the connection, the proxy would just close it.
    const options = { agent: false, method, headers }
    const sent = request(`${url}/v1/categories`, options).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    t.match(await json(response), { code: 'outcome_unknown', status: 503 })
    const { 'x-should-retry': advice, 'retry-after': time } = response.headers
    return [advice, time]
  }
  t.same(await retryAdvice('GET'), ['true', '1'])
  t.same(await retryAdvice('POST'), ['false', undefined])
  t.same(await retryAdvice('POST', { 'Idempotency-Key': 'x' }), ['true', '1'])
})
