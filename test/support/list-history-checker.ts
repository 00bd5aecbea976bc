import { hash } from 'node:crypto'

/** When something happened to a row, by the clock of the history. */
interface Life {
  stored: number
  /** When its removal was sent. Until `removed`, lists may show it or not. */
  removing: number
  removed: number
}

const notYet: Readonly<Life> = {
  stored: Infinity,
  removing: Infinity,
  removed: Infinity
}

/**
 * Checks lists against what was acknowledged before their requests were sent:
 * each list must show what was stored by then, nothing that was removed by
 * then, and nothing that was not committed.
 */
export class ListHistoryChecker {
  /** What is wrong, each fault once. */
  readonly faults = new Set<string>()
  #now = 0
  readonly #lives = new Map<string, Life>()
  /** Digests of bodies, by ETag. */
  readonly #bodies = new Map<string, string>()

  /** The number of events so far. */
  get now(): number {
    return this.#now
  }

  /** Counts an event. Returns its time. */
  tick(): number {
    this.#now++
    return this.#now
  }

  /** A commit of these names is sent: from now on, lists may show them. */
  sendCommit(names: string[]): void {
    for (const name of names) this.#lives.set(name, { ...notYet })
  }

  /** The commit was rejected: lists must not show this name. */
  reject(name: string): void {
    this.#lives.delete(name)
  }

  /** Something happens to these names now. */
  record(event: keyof Life, names: string[]): void {
    for (const name of names) {
      const life = this.#lives.get(name)
      if (life !== undefined) life[event] = this.#now
    }
  }

  /**
   * Checks a response.
   *
   * @param names what the response shows
   * @param sentAt when its request was sent
   * @param source the response in words, for the fault
   */
  check(names: string[], sentAt: number, source: string): void {
    const shown = new Set(names)
    if (shown.size < names.length)
      this.faults.add(`${source} shows a row twice`)

    for (const name of shown) {
      if (!this.#lives.has(name))
        this.faults.add(`${source} shows ${name}, which is not committed`)
    }

    for (const [name, life] of this.#lives) {
      const isStored = life.stored < sentAt && life.removing > this.#now
      if (isStored && !shown.has(name))
        this.faults.add(`${source} misses ${name}`)
      if (life.removed < sentAt && shown.has(name))
        this.faults.add(`${source} shows ${name}, which was removed`)
    }
  }

  /** Checks that an ETag names one body for ever. */
  checkEtag(etag: string, body: string): void {
    const digest = hash('sha256', body)
    const earlier = this.#bodies.get(etag)
    if (earlier !== undefined && earlier !== digest)
      this.faults.add(`${etag} names two bodies`)
    this.#bodies.set(etag, digest)
  }
}
