import { randomUUID } from 'node:crypto'
import autocannon, { type Client, type Request } from 'autocannon'
import type { Target, Throughput } from './load.ts'
import type { LoadRequest } from './plan.ts'

/**
 * Milliseconds between samples: the run ends on one. The default of a second is
 * too coarse.
 */
const sampleInterval = 100

const withFresh = (header: string, request: Request): Request => ({
  ...request,
  headers: { ...request.headers, [header]: randomUUID() }
})

/** A request as autocannon takes it. */
function requestFor(
  { url, key }: Target,
  { path, headers, freshHeader, ...rest }: LoadRequest
): Request {
  const request: Request = {
    ...rest,
    path: new URL(url).pathname + path,
    headers: { ...headers, authorization: `Bearer ${key}` }
  }
  if (freshHeader !== undefined)
    request.setupRequest = (one) => withFresh(freshHeader, one)

  return request
}

/** Sends requests by autocannon, in this process. */
export async function loadByAutocannon(
  target: Target,
  seconds: number
): Promise<Throughput> {
  const { url, kind, connections } = target
  const sequence = kind.requests.map((request) => requestFor(target, request))
  const times: number[] = []
  let opened = 0

  /** Connections start at different places of the sequence. */
  function setupClient(client: Client): void {
    const first = opened % sequence.length
    opened++
    client.setRequests([...sequence.slice(first), ...sequence.slice(0, first)])
    client.on('response', (_status, _bytes, milliseconds) =>
      times.push(milliseconds)
    )
  }

  const before = process.cpuUsage()
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    timeout: 120,
    sampleInt: sampleInterval,
    setupClient
  })
  const { user, system } = process.cpuUsage(before)

  times.sort((a, b) => a - b)
  const percentile = (share: number) =>
    times[Math.floor(times.length * share)] ?? NaN

  return {
    responses: result['2xx'],
    rate: result['2xx'] / result.duration,
    failures: result.errors + result.non2xx,
    p50: percentile(0.5),
    p99: percentile(0.99),
    generatorCpu: (user + system) / result['2xx']
  }
}
