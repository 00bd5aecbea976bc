import { randomInt, randomUUID } from 'node:crypto'
import { CreateHistoryChecker } from './create-history-checker.ts'
import { until } from './until.ts'

/** A replica, or a proxy in front of it, and an API key. */
export interface Endpoint {
  url: string
  key: string
}

/** Seconds in which a failover ends. */
const failoverTime = 180

/** Milliseconds for a response: more than the service may take. */
const responseTimeoutMs = 60_000

/** Creates a category. */
export const postCategory = (
  { url, key }: Endpoint,
  name: string,
  headers = {}
) =>
  fetch(`${url}/v1/categories`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...headers
    },
    body: JSON.stringify({ name }),
    // A machine that is lost does not close its connections.
    signal: AbortSignal.timeout(responseTimeoutMs)
  })

const isWorthResending = (status: number): boolean =>
  status >= 500 || status === 409 || status === 429

/** The codes of failures without an effect. */
const refusals = ['unavailable', 'rate_limited']

/** Sends creates to any of the targets, and counts failures by their code. */
function creator(targets: Endpoint[]) {
  const failures: Record<string, number> = {}
  const failed = (code: string) => {
    failures[code] = (failures[code] ?? 0) + 1
    return code
  }

  /** Resolves with the response, or the code of the failure. */
  async function send(name: string, headers: Record<string, string>) {
    const target = targets[randomInt(targets.length)]!
    try {
      const response = await postCategory(target, name, headers)
      const { status } = response
      const body = await response.text()
      if (isWorthResending(status))
        return failed((JSON.parse(body) as { code: string }).code)
      const replayed = response.headers.get('idempotent-replayed')
      return { status, body, isReplayed: replayed === 'true' }
    } catch {
      return failed('lost')
    }
  }

  return { failures, send }
}

/**
 * Clients that create categories until they are stopped. Most creates have their
 * name as Idempotency-Key, and are sent again after each failure, as a client
 * does that only wants its create stored. The others are sent once.
 *
 * @param targets which may change meanwhile
 */
export function startClients(targets: Endpoint[], clientCount = 16) {
  const creates = new CreateHistoryChecker()
  const { failures, send } = creator(targets)
  let isStopped = false

  /** Sends a create until it has a response. */
  async function create(name: string): Promise<void> {
    const response = await until(
      async () => {
        const result = await send(name, { 'idempotency-key': name })
        return typeof result === 'string' ? undefined : result
      },
      `${name} is stored`,
      failoverTime
    )
    creates.record(name, response)
  }

  /** Creates without an Idempotency-Key. */
  async function createPlainly(name: string): Promise<void> {
    const result = await send(name, {})
    if (typeof result !== 'string') creates.record(name, result)
    else if (!refusals.includes(result)) creates.recordUnknown(name)
  }

  async function work(): Promise<void> {
    while (!isStopped) {
      const name = randomUUID()
      const isPlain = randomInt(4) === 0
      if (isPlain) await createPlainly(name)
      else await createPersistently(name)
    }
  }

  async function createPersistently(name: string): Promise<void> {
    const isImpatient = randomInt(4) === 0
    // Does not wait for the response to its first request.
    if (isImpatient) await Promise.all([create(name), create(name)])
    else await create(name)

    // Sends the request again although it had a response.
    const isForgetful = randomInt(4) === 0
    if (isForgetful) await create(name)
  }

  const working = Promise.all(Array.from({ length: clientCount }, work))

  return {
    /** The number of failed requests, by their code. */
    failures,

    /** Resolves when this many more creates are stored. */
    async stores(count: number): Promise<void> {
      const enough = creates.size + count
      const what = `${count} more creates are stored`
      await until(() => creates.size >= enough, what, failoverTime)
    },

    /** Gets a list, and checks it. Returns whether there was one. */
    async list({ url, key }: Endpoint): Promise<boolean> {
      const expected = [...creates.acknowledged]
      const headers = { authorization: `Bearer ${key}` }
      const response = await fetch(`${url}/v1/categories`, { headers })
      const rows = (await response.json()) as object[]
      if (response.ok) creates.checkList(expected, rows)
      return response.ok
    },

    /**
     * Lets every client end, and returns what is wrong with the rows that
     * `read` returns then.
     */
    async stop(read: () => Promise<Record<string, unknown>[]>) {
      isStopped = true
      await working
      return creates.check(await read())
    }
  }
}
