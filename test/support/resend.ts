import { until } from './until.ts'

/** A 201, or what a client cannot repair by sending the request again. */
export interface Outcome {
  status: number
  body: string
  isReplayed: boolean
}

/** Sends a create with an Idempotency-Key once. */
export async function createKeyed(
  { url, key }: { url: string; key: string },
  idempotencyKey: string,
  name: string
): Promise<Outcome> {
  const response = await fetch(`${url}/v1/categories`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': idempotencyKey
    },
    body: JSON.stringify({ name })
  })
  return {
    status: response.status,
    body: await response.text(),
    isReplayed: response.headers.get('idempotent-replayed') === 'true'
  }
}

/**
 * Sends a create with the same Idempotency-Key after each lost connection, 5xx, 429 and 409, as a client does that only wants
 * it stored.
 *
 * @param target where the next request goes
 * @param failures counts what made it send again: a status with its code, or `lost`
 */
export async function createUntilStored(
  target: () => { url: string; key: string },
  idempotencyKey: string,
  name: string,
  failures: Record<string, number> = {}
): Promise<Outcome> {
  let last: Outcome | undefined
  await until(
    async () => {
      last = await createKeyed(target(), idempotencyKey, name).catch(() => undefined)
      const isFinal = last !== undefined && last.status < 500 && last.status !== 429 && last.status !== 409
      const { code } = last === undefined || isFinal ? { code: undefined } : (JSON.parse(last.body) as { code: string })
      const failure = code ?? 'lost'
      if (!isFinal) failures[failure] = (failures[failure] ?? 0) + 1
      return isFinal
    },
    `a create is stored: ${JSON.stringify(failures)}`
  )
  return last as Outcome
}

/**
 * Collects the 201 of every create, and checks them against the table: each create must have one row, and each response to it
 * the body of the first.
 */
export class Creates {
  readonly faults: string[] = []
  readonly #bodies = new Map<string, string>()
  readonly #firsts = new Set<string>()

  get size() {
    return this.#bodies.size
  }

  record(name: string, { status, body, isReplayed }: Outcome) {
    if (status !== 201) this.faults.push(`${name} failed with ${status} ${body}`)
    if ((this.#bodies.get(name) ?? body) !== body) this.faults.push(`${name} has two bodies`)
    if (!isReplayed && this.#firsts.has(name)) this.faults.push(`${name} was created twice`)
    if (!isReplayed) this.#firsts.add(name)
    this.#bodies.set(name, body)
  }

  /** Returns what is wrong, given all rows of the table; the first 20 faults. */
  check(rows: Record<string, unknown>[]): string[] {
    const stored = rows.map(({ id, name }) => JSON.stringify({ id: Number(id), name }))
    const expected = new Set(this.#bodies.values())
    const surplus = stored.filter((row) => !expected.delete(row))
    return [
      ...this.faults,
      ...surplus.map((row) => `${row} is not the body of a response`),
      ...[...expected].map((body) => `${body} is lost`)
    ].slice(0, 20)
  }
}
