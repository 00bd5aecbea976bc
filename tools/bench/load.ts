import autocannon from 'autocannon'
import type { Kind } from './plan.ts'

export interface Target {
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

interface LoadRequest {
  method: 'GET' | 'POST'
  headers?: Record<string, string>
  body?: string
}

const list: LoadRequest = { method: 'GET' }
const create: LoadRequest = {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'Rabbit', description: 'Small mammals with long ears' })
}

const requests: Record<Kind, LoadRequest[]> = {
  list: [list],
  create: [create],
  mixed: [create, ...Array<LoadRequest>(9).fill(list)]
}

/** Sends requests for some seconds; each connection sends the next one after each response. */
export async function throughput({ url, key, kind, connections }: Target, seconds: number): Promise<Throughput> {
  const authorization = `Bearer ${key}`
  const sequence = requests[kind].map((one) => ({ ...one, headers: { ...one.headers, authorization } }))
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
      client.setRequests([...sequence.slice(first), ...sequence.slice(0, first)])
      client.on('response', (_status, _bytes, milliseconds) => times.push(milliseconds))
    }
  })
  times.sort((a, b) => a - b)
  const percentile = (share: number) => times[Math.floor(times.length * share)] ?? NaN
  return {
    rate: result['2xx'] / result.duration,
    failures: result.errors + result.non2xx,
    p50: percentile(0.5),
    p99: percentile(0.99)
  }
}

/** Responses of the service by method, for the bare servers to send. */
export type Recording = Record<'GET' | 'POST', { headers: Record<string, string>; body: string }>

/** Headers that node:http adds itself. */
const automatic = ['connection', 'date', 'keep-alive', 'transfer-encoding']

export async function record({ url, key }: Pick<Target, 'url' | 'key'>): Promise<Recording> {
  const send = async ({ method, headers, body }: LoadRequest) => {
    const response = await fetch(url, {
      method,
      headers: { ...headers, authorization: `Bearer ${key}`, 'accept-encoding': 'identity' },
      body: body ?? null
    })
    if (!response.ok) throw new Error(`${method} ${url}: ${response.status}`)
    const sent = [...response.headers].filter(([name]) => !automatic.includes(name))
    return { headers: Object.fromEntries(sent), body: await response.text() }
  }
  return { GET: await send(list), POST: await send(create) }
}
