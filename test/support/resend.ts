import { randomUUID } from 'node:crypto'
import { randomizer } from './scale.ts'
import { until } from './until.ts'

/** A replica, or a proxy in front of it, and an API key. */
export interface Target {
  url: string
  key: string
}

/** A 201, or what a client cannot repair by sending the request again. */
export interface Outcome {
  status: number
  body: string
  isReplayed: boolean
}

/** Sends a create with an Idempotency-Key once. */
export async function createKeyed(
  { url, key }: Target,
  idempotencyKey: string,
  name: string
): Promise<Outcome> {
  const authorization = `Bearer ${key}`
  const response = await fetch(`${url}/v1/categories`, {
    method: 'POST',
    headers: {
      authorization,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey
    },
    body: JSON.stringify({ name })
  })
  const isReplayed = response.headers.get('idempotent-replayed') === 'true'
  return { status: response.status, body: await response.text(), isReplayed }
}

/**
 * Sends a create with the same Idempotency-Key after each lost connection, 5xx, 429 and 409, as a client does that only wants
 * it stored.
 *
 * @param target where the next request goes
 * @param failures counts what made it send again: a status with its code, or `lost`
 */
export async function createUntilStored(
  target: () => Target,
  idempotencyKey: string,
  name: string,
  failures: Record<string, number> = {}
): Promise<Outcome> {
  let outcome: Outcome | undefined
  await until(async () => {
    outcome = await createKeyed(target(), idempotencyKey, name).catch(
      () => undefined
    )
    const isFinal =
      outcome !== undefined &&
      outcome.status < 500 &&
      ![409, 429].includes(outcome.status)
    if (isFinal) return true
    const { code } = JSON.parse(outcome?.body ?? '{"code":"lost"}') as {
      code: string
    }
    failures[code] = (failures[code] ?? 0) + 1
    return false
  }, `${name} is stored`)
  return outcome as Outcome
}

/**
 * Collects the 201 of every create, and checks them against the table: each create must have one row, and each response to it
 * the body of the first.
 */
export class Creates {
  readonly faults: string[] = []
  /** The bodies of the 201, in the order of their arrival. */
  readonly acknowledged = new Set<string>()
  readonly #bodies = new Map<string, string>()
  readonly #firsts = new Set<string>()

  get size() {
    return this.#bodies.size
  }

  record(name: string, { status, body, isReplayed }: Outcome) {
    if (status !== 201)
      this.faults.push(`${name} failed with ${status} ${body}`)
    if ((this.#bodies.get(name) ?? body) !== body)
      this.faults.push(`${name} has two bodies`)
    if (!isReplayed && this.#firsts.has(name))
      this.faults.push(`${name} was created twice`)
    if (!isReplayed) this.#firsts.add(name)
    this.#bodies.set(name, body)
    this.acknowledged.add(body)
  }

  /** Returns what is wrong, given all rows of the table; the first 20 faults. */
  check(rows: Record<string, unknown>[]): string[] {
    const stored = rows.map(({ id, name }) =>
      JSON.stringify({ id: Number(id), name })
    )
    const expected = new Set(this.acknowledged)
    const surplus = stored.filter((row) => !expected.delete(row))
    const unknown = surplus.map((row) => `${row} is not the body of a response`)
    const lost = [...expected].map((body) => `${body} is lost`)
    return [...this.faults, ...unknown, ...lost].slice(0, 20)
  }
}

/** 16 clients that create categories, and send every failure again, until they are stopped. */
export function startClients(targets: Target[], seed: number) {
  const { random, pick } = randomizer(seed)
  const creates = new Creates()
  /** Number of failures by what they were. */
  const failures: Record<string, number> = {}
  let isStopped = false

  async function work() {
    while (!isStopped) {
      const name = randomUUID()
      const create = async () =>
        creates.record(
          name,
          await createUntilStored(() => pick(targets), name, name, failures)
        )
      // Some do not wait for the response to their first request, and some send it again although they had one.
      if (random(4) === 0) await Promise.all([create(), create()])
      else await create()
      if (random(4) === 0) await create()
    }
  }
  const working = Promise.all(Array.from({ length: 16 }, work))
  return {
    creates,
    failures,
    /** Resolves when so many more creates are stored. */
    stores(count: number) {
      const enough = creates.size + count
      return until(
        () => creates.size >= enough,
        `${count} more creates are stored`
      )
    },
    /** Lets every client end, and returns what is wrong with the rows that `read` returns then. */
    async stop(read: () => Promise<Record<string, unknown>[]>) {
      isStopped = true
      await working
      return creates.check(await read())
    }
  }
}
