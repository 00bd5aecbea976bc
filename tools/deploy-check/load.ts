// 16 clients that create categories and retry as openapi.yaml says, beside a reader of the
// list. At the end, each acknowledged create must be stored once.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** Where the clients send requests, and their API key. */
export interface Target {
  url: string
  apiKey: string
}

/** Milliseconds for a response: more than the service may take. */
const responseTimeoutMs = 45_000

/** What a create with an Idempotency-Key is sent again for; 0: no response. */
const retried = [0, 408, 409, 429, 500, 502, 503, 504]

interface Answer {
  status: number
  /** The code of the error, or why there was no response. */
  code: string
  retryAfter: number
  body: unknown
}

async function send(
  { url, apiKey }: Target,
  method: string,
  headers: Record<string, string> = {},
  body: string | null = null
): Promise<Answer> {
  try {
    const response = await fetch(`${url}/v1/categories`, {
      method,
      headers: { authorization: `Bearer ${apiKey}`, ...headers },
      body,
      signal: AbortSignal.timeout(responseTimeoutMs)
    })
    const answer = (await response.json()) as { code?: string }
    return {
      status: response.status,
      code: answer.code ?? '',
      retryAfter: Number(response.headers.get('retry-after')),
      body: answer
    }
  } catch (error) {
    const code = `no response: ${(error as Error).name}`
    return { status: 0, code, retryAfter: 0, body: undefined }
  }
}

/** Clients that create until they are stopped, and what they have seen. */
export class Load {
  readonly #target: Target
  readonly #attempts: number
  readonly #acknowledged = new Set<string>()
  readonly #failedAttempts: Record<string, number> = {}
  readonly #faults: string[] = []
  readonly #working: Promise<unknown>
  #isStopped = false

  /** @param attempts after which a client gives a create up, which is a fault */
  constructor(target: Target, attempts = 8) {
    this.#target = target
    this.#attempts = attempts
    const clients = Array.from({ length: 16 }, () => this.#createAll())
    this.#working = Promise.all([...clients, this.#readAll()])
  }

  /** Resolves when this many more creates are acknowledged. */
  async creates(more: number): Promise<void> {
    const enough = this.#acknowledged.size + more
    while (this.#acknowledged.size < enough) await sleep(50)
  }

  /** Lets every client end, also when a test fails. */
  readonly end = (): void => {
    this.#isStopped = true
  }

  /** Lets every client end, and compares what they know with the list. */
  async stop() {
    this.end()
    await this.#working
    let names: string[] | undefined
    while ((names = await this.#names()) === undefined) await sleep(1000)

    const stored = new Map<string, number>()
    for (const name of names) stored.set(name, (stored.get(name) ?? 0) + 1)
    const creates = [...this.#acknowledged]
    return {
      acknowledged: creates.length,
      failedAttempts: this.#failedAttempts,
      lost: creates.filter((name) => !stored.has(name)).length,
      doubled: creates.filter((name) => (stored.get(name) ?? 0) > 1).length,
      faults: this.#faults
    }
  }

  async #createAll(): Promise<void> {
    while (!this.#isStopped) {
      await this.#create(randomUUID())
      await sleep(50)
    }
  }

  async #create(name: string): Promise<void> {
    const type = { 'content-type': 'application/json' }
    const headers = { ...type, 'idempotency-key': name }
    const body = JSON.stringify({ name })
    for (let attempt = 1; ; attempt++) {
      const answer = await send(this.#target, 'POST', headers, body)
      if (answer.status === 201) {
        this.#acknowledged.add(name)
        return
      }
      this.#count(answer.code)
      if (!retried.includes(answer.status) || attempt === this.#attempts) {
        this.#faults.push(`given up after ${answer.status} ${answer.code}`)
        return
      }
      const pause = Math.max(
        Math.min(0.1 * 2 ** attempt, 15),
        answer.retryAfter
      )
      await sleep(pause * 1000 * (1 + Math.random() / 2))
    }
  }

  /** A list has everything that was acknowledged before. */
  async #readAll(): Promise<void> {
    while (!this.#isStopped) {
      const expected = [...this.#acknowledged]
      const names = await this.#names()
      const listed = new Set(names ?? expected)
      const missing = expected.filter((name) => !listed.has(name))
      this.#faults.push(...missing.map((name) => `a list lacks ${name}`))
      await sleep(250)
    }
  }

  async #names(): Promise<string[] | undefined> {
    const { status, code, body } = await send(this.#target, 'GET')
    if (status === 200)
      return (body as { name: string }[]).map(({ name }) => name)
    this.#count(code)
    return undefined
  }

  #count(code: string): void {
    this.#failedAttempts[code] = (this.#failedAttempts[code] ?? 0) + 1
  }
}
