import { randomUUID } from 'node:crypto'
import autocannon, { type Request } from 'autocannon'
import type { Kind, LoadRequest } from './plan.ts'

export interface Target {
  /** With the version. */
  url: string
  key: string
  kind: Kind
  connections: number
}

export interface Throughput {
  /** Successful responses per second. */
  rate: number
  /** Requests without a successful response. */
  failures: number
  /** Milliseconds to respond, at the median and the 99th percentile. */
  p50: number
  p99: number
}

/** Sends requests for some seconds; each connection sends the next one after each response. */
export async function throughput(
  { url, key, kind, connections }: Target,
  seconds: number
): Promise<Throughput> {
  const authorization = `Bearer ${key}`
  const { pathname } = new URL(url)
  const sequence = kind.requests.map(
    ({ path, headers, freshHeader, ...rest }) => ({
      ...rest,
      path: pathname + path,
      headers: { ...headers, authorization },
      ...(freshHeader !== undefined && {
        setupRequest: (request: Request) => withFresh(freshHeader, request)
      })
    })
  )
  const times: number[] = []
  let opened = 0
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    timeout: 120,
    // The run ends on a sample. The default is one per second, too coarse for 0.7 s.
    sampleInt: 100,
    setupClient(client) {
      // Connections start at different places of the sequence.
      const first = opened++ % sequence.length
      client.setRequests([
        ...sequence.slice(first),
        ...sequence.slice(0, first)
      ])
      client.on('response', (_status, _bytes, milliseconds) =>
        times.push(milliseconds)
      )
    }
  })
  times.sort((a, b) => a - b)
  const percentile = (share: number) =>
    times[Math.floor(times.length * share)] ?? NaN
  return {
    rate: result['2xx'] / result.duration,
    failures: result.errors + result.non2xx,
    p50: percentile(0.5),
    p99: percentile(0.99)
  }
}

const withFresh = (header: string, request: Request): Request => ({
  ...request,
  headers: { ...request.headers, [header]: randomUUID() }
})

/** Responses of the service, for the bare servers to send. */
export type Recording = Awaited<ReturnType<typeof respond>>[]

/** Headers that node:http adds itself. */
const automatic = ['connection', 'date', 'keep-alive', 'transfer-encoding']

/** Returns the response to the first request of each method. */
export function record({
  url,
  key,
  kind
}: Omit<Target, 'connections'>): Promise<Recording> {
  const firsts = new Map(
    kind.requests.toReversed().map((request) => [request.method, request])
  )
  return Promise.all(
    [...firsts.values()].map((request) => respond(url, key, request))
  )
}

async function respond(
  url: string,
  key: string,
  { method, path, headers, body }: LoadRequest
) {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${key}`,
      'accept-encoding': 'identity'
    },
    body: body ?? null
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
  const sent = [...response.headers].filter(
    ([name]) => !automatic.includes(name)
  )
  return {
    method,
    status: response.status,
    headers: Object.fromEntries(sent),
    body: await response.text()
  }
}
