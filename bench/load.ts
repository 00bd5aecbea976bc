import { Agent, request } from 'node:http'
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
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const times: number[] = []
  const send = ({ method, headers, body }: LoadRequest, due: number) =>
    new Promise<void>((resolve, reject) => {
      const outgoing = request(url, {
        agent,
        method,
        headers: { ...(headers as object), authorization: `Bearer ${key}` }
      })
      outgoing.on('error', reject)
      outgoing.on('response', (response) => {
        response.resume().on('end', () => {
          times.push(performance.now() - due)
          resolve()
        })
      })
      outgoing.end(body)
    })
  const startedAt = performance.now()
  const total = Math.ceil(rate * seconds)
  const sent: Promise<void>[] = []
  while (sent.length < total) {
    const due = startedAt + (sent.length * 1000) / rate
    if (due > performance.now()) await setTimeout(1)
    else sent.push(send(requests[kind][sent.length % requests[kind].length] as LoadRequest, due))
  }
  await Promise.all(sent)
  agent.destroy()
  times.sort((a, b) => a - b)
  const at = (share: number) => times[Math.floor(times.length * share)] as number
  return { p50: at(0.5), p99: at(0.99) }
}
