import { randomInt, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { HistoryChecker } from './history-checker.ts'
import { bearer } from './requests.ts'
import { until } from './until.ts'

/** A replica, or a proxy in front of it, and an API key. */
export interface Endpoint {
  url: string
  apiKey: string
}

/** Seconds in which a failover ends. */
const failoverSeconds = 180

/** Milliseconds for a response: more than the service may take. */
const responseTimeoutMs = 45_000

/** How a client sends a create again. */
interface Retries {
  /** Then the client gives the create up: a violation. */
  maxAttempts: number
  /** Milliseconds before the next attempt. */
  delayMs: (attempt: number, retryAfter: number) => number
  /** Milliseconds before the next create. */
  thinkTimeMs: number
}

/** Faster than a client should be, without an end. */
const quickRetries: Retries = {
  maxAttempts: Infinity,
  delayMs: () => 20,
  thinkTimeMs: 0
}

/** As openapi.yaml says, but after at most 15 s. */
export const documentedRetries = (maxAttempts = 8): Retries => ({
  maxAttempts,
  delayMs: (attempt, retryAfter) =>
    Math.max(Math.min(0.1 * 2 ** attempt, 15), retryAfter) *
    1000 *
    (1 + Math.random() / 2),
  thinkTimeMs: 100
})

/** Sends a request to the categories. */
const send = (
  { url, apiKey }: Endpoint,
  headers = {},
  init: RequestInit = {}
) =>
  fetch(`${url}/v1/categories`, {
    headers: { ...bearer(apiKey), ...headers },
    // A machine that is lost does not close its connections.
    signal: AbortSignal.timeout(responseTimeoutMs),
    ...init
  })

/** Creates a category. */
export const postCategory = (target: Endpoint, name: string, headers = {}) =>
  send(
    target,
    { 'content-type': 'application/json', ...headers },
    { method: 'POST', body: JSON.stringify({ name }) }
  )

const isWorthResending = (status: number): boolean =>
  status >= 500 || status === 409 || status === 429

/** The codes of failures without an effect. */
const refusals = ['unavailable', 'rate_limited']

/** Reads a response. It has a `failure` if the request should be sent again. */
async function read(responding: Promise<Response>) {
  try {
    const response = await responding
    const { status, headers } = response
    const body = await response.text()
    return {
      status,
      body,
      failure: isWorthResending(status)
        ? (JSON.parse(body) as { code: string }).code
        : undefined,
      isReplayed: headers.get('idempotent-replayed') === 'true',
      retryAfter: Number(headers.get('retry-after'))
    }
  } catch (error) {
    const failure = `no response: ${(error as Error).name}`
    return { status: 0, body: '', failure, isReplayed: false, retryAfter: 0 }
  }
}

/**
 * 16 clients that create categories until they are stopped, beside one that
 * lists them. Most creates have their name as Idempotency-Key, and are sent again
 * after each failure, as a client does that only wants its create stored. The
 * others are sent once.
 */
export class LoadGenerator {
  /** The number of failed requests, by their code. */
  readonly failures: Record<string, number> = {}
  /** The number of lists that succeeded. */
  lists = 0
  readonly #targets: Endpoint[]
  readonly #retries: Retries
  readonly #history = new HistoryChecker()
  readonly #working: Promise<unknown>
  /** The names of these clients begin with it. */
  readonly #prefix = randomUUID()
  #isStopped = false

  /**
   * @param targets of which each request gets any; they may change meanwhile
   */
  constructor(t: Test, targets: Endpoint[], retries = quickRetries) {
    this.#targets = targets
    this.#retries = { ...retries }
    t.teardown(() => {
      this.#isStopped = true
      this.#retries.maxAttempts = 0
    })
    const creating = Array.from({ length: 16 }, (_, client) =>
      this.#repeat((count) => this.#createAny(`${client}-${count}`))
    )
    this.#working = Promise.all([
      ...creating,
      this.#repeat(() => this.#checkList())
    ])
  }

  /** The number of creates with a response. */
  get creates(): number {
    return this.#history.size
  }

  /** Resolves when this many more creates are stored. */
  async waitForCreates(count: number): Promise<void> {
    const enough = this.creates + count
    const what = `${count} more creates are stored`
    await until(() => this.creates >= enough, what, failoverSeconds)
  }

  /**
   * Lets every client end, and returns what is wrong with their rows.
   *
   * @param readAll reads all rows: by default, by a list
   */
  async stop(
    readAll = () =>
      until(() => this.#list(), 'there is a list', failoverSeconds)
  ): Promise<string[]> {
    this.#isStopped = true
    await this.#working
    return this.#history.check(await readAll())
  }

  async #repeat(act: (count: number) => Promise<void>): Promise<void> {
    for (let count = 1; !this.#isStopped; count++) {
      await act(count)
      await sleep(this.#retries.thinkTimeMs)
    }
  }

  #count(failure: string): void {
    this.failures[failure] = (this.failures[failure] ?? 0) + 1
  }

  #target(): Endpoint {
    return this.#targets[randomInt(this.#targets.length)]!
  }

  async #createAny(number: string): Promise<void> {
    const name = `${this.#prefix}-${number}`
    const isPlain = randomInt(4) === 0
    if (isPlain) {
      await this.#createPlainly(name)
      return
    }

    const isImpatient = randomInt(4) === 0
    // Does not wait for the response to its first request.
    if (isImpatient)
      await Promise.all([this.#create(name, false), this.#create(name, false)])
    else await this.#create(name)

    // Sends the request again although it had a response.
    const isForgetful = randomInt(4) === 0
    if (isForgetful) await this.#create(name)
  }

  /** Creates without an Idempotency-Key. */
  async #createPlainly(name: string): Promise<void> {
    const result = await read(postCategory(this.#target(), name))
    const { failure } = result
    if (failure === undefined) {
      this.#history.record(name, result)
      return
    }
    this.#count(failure)
    if (!refusals.includes(failure)) this.#history.recordUnknown(name)
  }

  /** Sends a create until it has a response. */
  async #create(name: string, isAlone = true): Promise<void> {
    const headers = { 'idempotency-key': name }
    for (let attempt = 1; ; attempt++) {
      const result = await read(postCategory(this.#target(), name, headers))
      const { failure, retryAfter } = result
      if (failure === undefined) {
        this.#history.record(name, result)
        return
      }
      if (isAlone || failure !== 'idempotency_key_in_use') this.#count(failure)
      if (attempt >= this.#retries.maxAttempts) {
        this.#history.violations.push(`${name} was given up after ${failure}`)
        return
      }
      await sleep(this.#retries.delayMs(attempt, retryAfter))
    }
  }

  /** A list has everything that was acknowledged before. */
  async #checkList(): Promise<void> {
    const expected = [...this.#history.acknowledged]
    const rows = await this.#list()
    if (rows === undefined) return
    this.#history.checkList(expected, rows)
    this.lists++
  }

  /** Resolves with the rows of these clients, unless the request fails. */
  async #list(): Promise<Record<string, unknown>[] | undefined> {
    const { failure, body } = await read(send(this.#target()))
    if (failure !== undefined) {
      this.#count(failure)
      return undefined
    }
    const rows = JSON.parse(body) as { name: string }[]
    return rows.filter(({ name }) => name.startsWith(this.#prefix))
  }
}
