import { randomUUID } from 'node:crypto'
import { format } from 'node:util'
import { CreateHistoryChecker, type Outcome } from './create-history-checker.ts'
import { randomizer } from './scale.ts'
import { until } from './until.ts'

/** A replica, or a proxy in front of it, and an API key. */
export interface Target {
  url: string
  key: string
  /** The collection to create in, `notes` by default. */
  resource?: string
}

/** Seconds in which a failover ends. */
const failoverTime = 180

/** Milliseconds for a response: more than the service may take. */
const responseTimeoutMs = 60_000

/** Sends a create with an Idempotency-Key once. */
export async function createKeyed(
  { url, key, resource = 'notes' }: Target,
  idempotencyKey: string,
  name: string
): Promise<Outcome> {
  const response = await fetch(`${url}/v1/${resource}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey
    },
    body: JSON.stringify({ name }),
    // A node that is lost does not close its connections.
    signal: AbortSignal.timeout(responseTimeoutMs)
  })
  return {
    status: response.status,
    body: await response.text(),
    isReplayed: response.headers.get('idempotent-replayed') === 'true'
  }
}

/** Whether a client that wants its create stored sends it again. */
const isWorthResending = ({ status }: Outcome): boolean =>
  status >= 500 || status === 409 || status === 429

type OnFailure = (code: string, error?: unknown) => void

/**
 * Sends a create with the same Idempotency-Key after each lost connection, 5xx,
 * 429 and 409, as a client does that only wants it stored.
 *
 * @param target where the next request goes
 * @param onFailure gets what made it send again: the code of an error, or
 *   `lost` and how the connection was lost
 */
export async function createUntilStored(
  target: () => Target,
  idempotencyKey: string,
  name: string,
  onFailure: OnFailure = () => {}
): Promise<Outcome> {
  const outcomes: Outcome[] = []

  async function send(): Promise<boolean> {
    let outcome: Outcome
    try {
      outcome = await createKeyed(target(), idempotencyKey, name)
    } catch (error) {
      onFailure('lost', error)
      return false
    }
    if (isWorthResending(outcome)) {
      const { code } = JSON.parse(outcome.body) as { code: string }
      onFailure(code)
      return false
    }
    outcomes.push(outcome)
    return true
  }

  await until(send, `${name} is stored`, failoverTime)
  return outcomes[0]!
}

/** What made clients send requests again. */
class SentAgain {
  /** Number of failures by their code. */
  readonly failures: Record<string, number> = {}
  /** How connections were lost. */
  readonly losses = new Set<string>()

  add: OnFailure = (code, error) => {
    this.failures[code] = (this.failures[code] ?? 0) + 1
    if (error instanceof Error)
      this.losses.add(format('%s: %s', error.message, error.cause))
  }
}

/**
 * Clients that create records until they are stopped. They send each failed
 * request again.
 *
 * @param seed of the random choices
 */
export function startClients(
  targets: Target[],
  seed: number,
  clientCount = 16
) {
  const { random, pick } = randomizer(seed)
  const creates = new CreateHistoryChecker()
  const sentAgain = new SentAgain()
  let isStopped = false

  async function createRecorded(name: string): Promise<void> {
    const target = () => pick(targets)
    creates.record(
      name,
      await createUntilStored(target, name, name, sentAgain.add)
    )
  }

  async function work(): Promise<void> {
    while (!isStopped) {
      const name = randomUUID()
      const isImpatient = random(4) === 0
      // Does not wait for the response to its first request.
      if (isImpatient)
        await Promise.all([createRecorded(name), createRecorded(name)])
      else await createRecorded(name)

      // Sends the request again although it had a response.
      const isForgetful = random(4) === 0
      if (isForgetful) await createRecorded(name)
    }
  }

  const working = Promise.all(Array.from({ length: clientCount }, work))

  /**
   * Lets every client end, and returns what is wrong with the rows that `read`
   * returns then.
   */
  async function stop(read: () => Promise<Record<string, unknown>[]>) {
    isStopped = true
    await working
    return creates.check(await read())
  }

  /** Resolves when this many more creates are stored. */
  const stores = (count: number) => storesMore(creates, count)

  const { failures, losses } = sentAgain
  return { creates, failures, losses, stores, stop }
}

function storesMore(
  creates: CreateHistoryChecker,
  count: number
): Promise<void> {
  const enough = creates.size + count
  return until(
    () => creates.size >= enough,
    `${count} more creates are stored`,
    failoverTime
  )
}
