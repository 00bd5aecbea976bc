import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { until } from './until.ts'

export type Load = ReturnType<typeof startLoad>

/** Creates categories with new names on new keep-alive connections until it is stopped. */
export function startLoad(url: string, key: string, connections = 16) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const run = randomUUID()
  let isStopped = false
  let next = 0
  const load = {
    /** Number of responses by status, and by code if there is one: `201`, `503 unavailable`. */
    responses: {} as Record<string, number>,
    acknowledged: [] as string[],
    /** The errors of requests without a complete response. */
    lost: [] as string[],
    /** Resolves when `count` more creates are acknowledged. */
    acknowledges(count: number): Promise<void> {
      const enough = load.acknowledged.length + count
      return until(
        () => load.acknowledged.length >= enough,
        `${count} more creates are acknowledged`
      )
    },
    /** Sends no more, and resolves when every request has its response. */
    async stop(): Promise<void> {
      isStopped = true
      await working
      agent.destroy()
    }
  }

  async function work() {
    while (!isStopped) {
      const name = `${run} ${next++}`
      try {
        const { status, code } = await create(
          `${url}/v1/categories`,
          key,
          agent,
          name
        )
        const kind = code === undefined ? String(status) : `${status} ${code}`
        load.responses[kind] = (load.responses[kind] ?? 0) + 1
        if (status === 201) load.acknowledged.push(name)
      } catch (error) {
        load.lost.push(String(error))
      }
    }
  }
  const working = Promise.all(Array.from({ length: connections }, work))
  return load
}

/** Milliseconds without a byte before a request fails: more than the service may take. */
const silence = 60_000

async function create(url: string, key: string, agent: Agent, name: string) {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json'
  }
  const sent = request(url, {
    method: 'POST',
    agent,
    headers,
    timeout: silence
  })
  sent.on('timeout', () => sent.destroy(new Error('no response')))
  // An error after the response is reported by its body too.
  sent.on('error', () => {})
  sent.end(JSON.stringify({ name }))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const { code } = (await json(response)) as { code?: string }
  return { status: response.statusCode, code }
}
