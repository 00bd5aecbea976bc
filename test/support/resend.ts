import { randomInt, randomUUID } from 'node:crypto'
import { format } from 'node:util'
import {
  CreateHistoryChecker,
  type CreateResponse
} from './create-history-checker.ts'
import { postNamed } from './process.ts'
import { until } from './until.ts'

/** A replica, or a proxy in front of it, and an API key. */
export interface Endpoint {
  url: string
  key: string
  /** The collection to create in, `notes` by default. */
  resource?: string
}

/** Seconds in which a failover ends. */
const failoverTime = 180

/** Sends a create with an Idempotency-Key once. */
export async function createKeyed(
  { url, key, resource = 'notes' }: Endpoint,
  idempotencyKey: string,
  name: string
): Promise<CreateResponse> {
  const response = await postNamed(url, key, name, resource, {
    'idempotency-key': idempotencyKey
  })
  return {
    status: response.status,
    body: await response.text(),
    isReplayed: response.headers.get('idempotent-replayed') === 'true'
  }
}

/** Whether a client that wants its create stored sends it again. */
const isWorthResending = ({ status }: CreateResponse): boolean =>
  status >= 500 || status === 409 || status === 429

/** Gets what made a client send its create again. */
type OnFailure = (code: string, error?: unknown) => void

/**
 * Sends a create, whose name is its Idempotency-Key, again after each lost
 * connection, 5xx, 429 and 409, as a client does that only wants it stored.
 *
 * @param target where the next request goes
 * @param onFailure gets what made it send again: the code of an error, or
 *   `lost` and how the connection was lost
 */
function createUntilStored(
  target: () => Endpoint,
  name: string,
  onFailure: OnFailure = () => {}
): Promise<CreateResponse> {
  const lost = (error: unknown) => {
    onFailure('lost', error)
    return undefined
  }

  async function send(): Promise<CreateResponse | undefined> {
    const outcome = await createKeyed(target(), name, name).catch(lost)
    if (outcome === undefined || !isWorthResending(outcome)) return outcome

    const { code } = JSON.parse(outcome.body) as { code: string }
    onFailure(code)
    return undefined
  }

  return until(send, `${name} is stored`, failoverTime)
}

/**
 * Clients that create records until they are stopped. They send each failed
 * request again.
 *
 * @param targets which may change meanwhile
 */
export function startClients(targets: Endpoint[], clientCount = 16) {
  const creates = new CreateHistoryChecker()
  /** Number of requests that were sent again, by the code of their failure. */
  const failures: Record<string, number> = {}
  /** How connections were lost. */
  const losses = new Set<string>()
  let isStopped = false

  const failed: OnFailure = (code, error) => {
    failures[code] = (failures[code] ?? 0) + 1
    if (error instanceof Error)
      losses.add(format('%s: %s', error.message, error.cause))
  }

  async function create(name: string): Promise<void> {
    const target = () => targets[randomInt(targets.length)]!
    creates.record(name, await createUntilStored(target, name, failed))
  }

  async function work(): Promise<void> {
    while (!isStopped) {
      const name = randomUUID()
      const isImpatient = randomInt(4) === 0
      // Does not wait for the response to its first request.
      if (isImpatient) await Promise.all([create(name), create(name)])
      else await create(name)

      // Sends the request again although it had a response.
      const isForgetful = randomInt(4) === 0
      if (isForgetful) await create(name)
    }
  }

  const working = Promise.all(Array.from({ length: clientCount }, work))

  return {
    creates,
    failures,
    losses,

    /** Resolves when this many more creates are stored. */
    async stores(count: number): Promise<void> {
      const enough = creates.size + count
      const what = `${count} more creates are stored`
      await until(() => creates.size >= enough, what, failoverTime)
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

/**
 * Checks lists, one after the other, while something runs: each must have what
 * was acknowledged before its request.
 *
 * @param areDurable whether the rows that the lists show must stay
 * @returns the number of lists
 */
export async function checkLists(
  { url, key, resource = 'notes' }: Endpoint,
  creates: CreateHistoryChecker,
  running: Promise<unknown>,
  areDurable = true
): Promise<number> {
  let lists = 0
  let isRunning = true

  async function list(): Promise<boolean> {
    const expected = [...creates.acknowledged]
    const response = await fetch(`${url}/v1/${resource}`, {
      headers: { authorization: `Bearer ${key}` }
    })
    const rows = (await response.json()) as object[]
    if (response.ok) {
      creates.checkList(expected, rows, `a list from ${url}`, areDurable)
      lists++
    }
    return !isRunning
  }

  const ended = running.finally(() => {
    isRunning = false
  })
  await Promise.all([ended, until(list, 'it has ended', 3 * failoverTime)])
  return lists
}
