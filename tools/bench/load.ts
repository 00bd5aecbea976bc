import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import autocannon from 'autocannon'

/** What clients ask for: lists, creates, or nine lists to one create. */
export type Kind = 'list' | 'create' | 'mixed'

export interface Target {
  url: string
  key: string
  kind: Kind
  connections: number
}

const category = JSON.stringify({ name: 'Rabbit', description: 'Small mammals with long ears' })

type LoadRequest = Required<Pick<autocannon.Request, 'method'>> & Pick<autocannon.Request, 'headers' | 'body'>

const list: LoadRequest = { method: 'GET' }
const create: LoadRequest = { method: 'POST', headers: { 'content-type': 'application/json' }, body: category }

const requests: Record<Kind, LoadRequest[]> = {
  list: [list],
  create: [create],
  mixed: [create, ...Array<LoadRequest>(9).fill(list)]
}

export interface Throughput {
  /** Answers a second. */
  rate: number
  /** Requests that were refused or not answered. */
  failures: number
}

/** Sends requests for some seconds, on each connection one after the other. */
export async function throughput({ url, key, kind, connections }: Target, seconds: number): Promise<Throughput> {
  let connection = 0
  const authorization = `Bearer ${key}`
  const withKey = requests[kind].map((one) => ({ ...one, headers: { ...one.headers, authorization } }))
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    timeout: 120,
    // It ends on a sample: with one a second, half a second would take a whole one.
    sampleInt: 100,
    setupClient(client) {
      // Not all connections at the same place of the sequence.
      const first = connection++ % withKey.length
      client.setRequests([...withKey.slice(first), ...withKey.slice(0, first)])
    }
  })
  return { rate: result['2xx'] / result.duration, failures: result.errors + result.non2xx }
}

export interface Latency {
  /** Milliseconds. */
  p50: number
  p99: number
}

/** A connection that sends one request after the other, with as little work of its own as may be. */
async function openConnection(url: URL): Promise<(request: Buffer) => Promise<void>> {
  const socket = connect(Number(url.port), url.hostname).setNoDelay()
  await once(socket, 'connect')
  let answered: (() => void) | undefined
  /** Bytes of the answer that are still to come; undefined until its headers have told. */
  let missing: number | undefined
  socket.on('data', (chunk: Buffer) => {
    if (missing === undefined) {
      const end = chunk.indexOf('\r\n\r\n')
      missing = end + 4 + Number(/content-length: (\d+)/i.exec(chunk.toString('latin1', 0, end))?.[1])
    }
    missing -= chunk.length
    if (missing > 0) return
    missing = undefined
    answered?.()
  })
  return (request) =>
    new Promise((resolve) => {
      answered = resolve
      socket.write(request)
    })
}

/**
 * Sends requests at a steady rate, whether or not answers come, and gives the time from when each was due until its
 * answer was read. (autocannon sends the requests of a second all at its beginning.)
 *
 * @param rate requests a second
 */
export async function latency(
  { url, key, kind, connections }: Target,
  rate: number,
  seconds: number
): Promise<Latency> {
  const target = new URL(url)
  const bytes = requests[kind].map(({ method, headers, body = '' }) => {
    const all = { host: target.host, authorization: `Bearer ${key}`, 'content-length': String(body.length), ...headers }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${String(value)}`)
    return Buffer.from(`${method} ${target.pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${String(body)}`)
  })
  const total = Math.ceil(rate * seconds)
  const times: number[] = []
  const startedAt = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const send = await openConnection(target)
      while (next < total) {
        const number = next++
        const due = startedAt + (number * 1000) / rate
        while (due > performance.now()) await setTimeout(due - performance.now())
        await send(bytes[number % bytes.length] as Buffer)
        times.push(performance.now() - due)
      }
    })
  )
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] as number
  return { p50: at(0.5), p99: at(0.99) }
}
