import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'

/** What became of the creates of a load, by their names. */
export interface Load {
  /** Answers by status, and by code where there is one: `201`, `503 unavailable`. */
  answers: Record<string, number>
  acknowledged: string[]
  /** Answered with `outcome_unknown`, or not at all. */
  unknown: string[]
  /** The errors of those without a whole answer. */
  lost: string[]
  /** Resolves when so many more have been acknowledged than at the call; rejects when that takes minutes. */
  acknowledges: (count: number) => Promise<void>
  /** Begins no more, and resolves when all that has begun is answered. */
  stop: () => Promise<void>
}

/** Milliseconds, beyond all that a start of Postgres takes. */
const patience = 120_000

/** Creates categories of new names, on so many connections that are kept, until it is stopped. */
export function startLoad(url: string, key: string, connections = 16): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const load: Pick<Load, 'answers' | 'acknowledged' | 'unknown' | 'lost'> = {
    answers: {},
    acknowledged: [],
    unknown: [],
    lost: []
  }
  const waiting = new Set<() => void>()
  const run = randomUUID()
  let isStopped = false
  let next = 0

  async function work() {
    while (!isStopped) {
      const name = `${run} ${next++}`
      try {
        const { status, code } = await create(`${url}/v1/categories`, key, agent, name)
        const kind = code === undefined ? String(status) : `${status} ${code}`
        load.answers[kind] = (load.answers[kind] ?? 0) + 1
        if (status === 201) load.acknowledged.push(name)
        if (code === 'outcome_unknown') load.unknown.push(name)
      } catch (error) {
        load.lost.push(String(error))
        load.unknown.push(name)
      }
      for (const look of waiting) look()
    }
  }
  const working = Promise.all(Array.from({ length: connections }, work))
  return Object.assign(load, {
    acknowledges(count: number) {
      const enough = load.acknowledged.length + count
      return new Promise<void>((resolve, reject) => {
        const giveUp = setTimeout(
          () => reject(new Error(`not acknowledged: ${JSON.stringify(load.answers)}`)),
          patience
        )
        const look = () => {
          if (load.acknowledged.length < enough) return
          clearTimeout(giveUp)
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
      })
    },
    async stop() {
      isStopped = true
      await working
      agent.destroy()
    }
  })
}

/** Milliseconds that a request may go without a byte: beyond all that the service allows itself. */
const silence = 60_000

async function create(url: string, key: string, agent: Agent, name: string) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const sent = request(url, { method: 'POST', agent, headers, timeout: silence })
  sent.on('timeout', () => sent.destroy(new Error('no answer')))
  // That of a body that is cut off is the body's, too.
  sent.on('error', () => {})
  sent.end(JSON.stringify({ name }))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const { code } = (await json(response)) as { code?: string }
  return { status: response.statusCode, code }
}
