import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { until } from './until.ts'

/**
 * Milliseconds without a byte before a request fails: more than the service may
 * take.
 */
const silence = 60_000

/**
 * Seconds in which a service is back that was replaced or lost its database.
 */
const recoveryTime = 180

/** Creates rows with new names on keep-alive connections. */
export class Load {
  /**
   * Number of responses by status, and by code if there is one: `201`,
   * `503 unavailable`.
   */
  readonly responses: Record<string, number> = {}
  /** The names of creates with a 201. */
  readonly acknowledged: string[] = []
  /** The errors of requests without a complete response. */
  readonly lost: string[] = []
  readonly #url: string
  readonly #key: string
  readonly #agent: Agent
  readonly #working: Promise<unknown>
  readonly #run = randomUUID()
  #isStopped = false
  #sentCount = 0

  constructor(url: string, key: string, connections: number, resource: string) {
    this.#url = `${url}/v1/${resource}`
    this.#key = key
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
    const workers = Array.from({ length: connections }, () => this.#work())
    this.#working = Promise.all(workers)
  }

  /** Resolves when `count` more creates are acknowledged. */
  acknowledges(count: number): Promise<void> {
    const enough = this.acknowledged.length + count

    return until(
      () => this.acknowledged.length >= enough,
      `${count} more creates are acknowledged`,
      recoveryTime
    )
  }

  /** Sends no more, and resolves when every request has its response. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#working
    this.#agent.destroy()
  }

  async #work(): Promise<void> {
    while (!this.#isStopped) {
      this.#sentCount++
      const name = `${this.#run} ${this.#sentCount}`
      try {
        await this.#create(name)
      } catch (error) {
        this.lost.push(String(error))
      }
    }
  }

  async #create(name: string): Promise<void> {
    const { status, code } = await this.#send({ name })
    const kind = code === undefined ? String(status) : `${status} ${code}`
    this.responses[kind] = (this.responses[kind] ?? 0) + 1
    if (status === 201) this.acknowledged.push(name)
  }

  async #send(body: object) {
    const outgoing = request(this.#url, {
      method: 'POST',
      agent: this.#agent,
      headers: {
        authorization: `Bearer ${this.#key}`,
        'content-type': 'application/json'
      },
      timeout: silence
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('no response')))
    // An error after the response is reported by its body too.
    outgoing.on('error', () => {})
    outgoing.end(JSON.stringify(body))

    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    const { code } = (await json(response)) as { code?: string }

    return { status: response.statusCode, code }
  }
}

/**
 * Starts a load, which goes on until it is stopped.
 *
 * @param resource the collection to create in
 */
export const startLoad = (
  url: string,
  key: string,
  connections = 16,
  resource = 'categories'
): Load => new Load(url, key, connections, resource)
