/** A 201, or what a client cannot repair by sending the request again. */
export interface CreateResponse {
  status: number
  body: string
  isReplayed: boolean
}

/** The number of violations that a report shows. */
const violationsShown = 20

/**
 * Collects the results of creates, and the rows of lists, and checks them
 * against the table: a create that was acknowledged must have one row, each
 * response to it the body of the first, and each row of a list must stay. A
 * create without an Idempotency-Key is sent once: it must have no row if it was
 * refused, and at most one if its outcome is unknown.
 */
export class HistoryChecker {
  readonly violations: string[] = []
  /** The bodies of the 201, in the order of their arrival. */
  readonly acknowledged = new Set<string>()
  /** The body of each create, by name. */
  readonly #bodies = new Map<string, string>()
  /** The creates that had a response which was not a replay. */
  readonly #created = new Set<string>()
  /** The rows of lists that must be in the table. */
  readonly #listed = new Set<string>()
  /** The creates that may have one row. */
  readonly #unknown = new Set<string>()

  /** Number of creates with a response. */
  get size(): number {
    return this.#bodies.size
  }

  /** A response to a create of this name arrived. */
  record(name: string, { status, body, isReplayed }: CreateResponse): void {
    if (status !== 201) {
      this.violations.push(`${name} failed with ${status} ${body}`)
      return
    }

    const earlier = this.#bodies.get(name)
    if (earlier !== undefined && earlier !== body)
      this.violations.push(`${name} has two bodies`)
    this.#bodies.set(name, body)
    this.acknowledged.add(body)

    if (isReplayed) return
    if (this.#created.has(name))
      this.violations.push(`${name} was created twice`)
    this.#created.add(name)
  }

  /** A create of this name may have been stored, and is not sent again. */
  recordUnknown(name: string): void {
    this.#unknown.add(name)
  }

  /** Returns what is wrong, given all rows of the table: the first violations. */
  check(rows: Record<string, unknown>[]): string[] {
    const lost = new Set(this.acknowledged)
    const vanished = new Set(this.#listed)
    const unknown = new Set(this.#unknown)
    const surplus: string[] = []
    for (const { id, name } of rows) {
      const body = JSON.stringify({ id: Number(id), name })
      vanished.delete(body)
      const isExpected = lost.delete(body) || unknown.delete(String(name))
      if (!isExpected) surplus.push(body)
    }

    return [
      ...this.violations,
      ...surplus.map((body) => `${body} is not the body of a response`),
      ...[...lost].map((body) => `${body} is lost`),
      ...[...vanished].map((body) => `${body} was in a list, and is lost`)
    ].slice(0, violationsShown)
  }

  /**
   * Checks a list.
   *
   * @param expected what was acknowledged before its request was sent
   */
  checkList(expected: string[], rows: object[]): void {
    const listed = new Set<string>()
    for (const body of rows.map((row) => JSON.stringify(row))) {
      if (listed.has(body)) this.violations.push(`a list has ${body} twice`)
      listed.add(body)
      this.#listed.add(body)
    }

    const missing = expected.filter((body) => !listed.has(body))
    this.violations.push(...missing.map((body) => `a list lacks ${body}`))
  }
}
