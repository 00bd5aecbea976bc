import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { query } from './database.ts'
import { ListHistoryChecker } from './list-history-checker.ts'
import { postNote, startNotes, storedNames } from './notes.ts'
import { randomizer } from './scale.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

/**
 * Workers of each kind: creates, transactions, and two kinds' worth of lists.
 */
const workersOfAKind = 5

/**
 * Seconds in which a history makes progress, even while PostgreSQL restarts.
 */
const progressTime = 180

/** A list that a client has, and its validator. */
interface KnownList {
  etag: string
  names: string[]
}

/** Ten writers and ten readers on two replicas, with a checker of the lists. */
class History {
  /** Number of results, such as `201`, `304`, `gzip` or `ROLLBACK`. */
  readonly counts: Record<string, number> = {}
  readonly #replicas: Service[]
  readonly #checker = new ListHistoryChecker()
  readonly #choose
  readonly #working: Promise<unknown>
  #isRunning = true
  /** The last lists, oldest first. */
  #knownLists: KnownList[] = [{ etag: '"none"', names: ['none'] }]
  /** Names that a transaction may remove. */
  readonly #removable: string[] = []

  constructor(replicas: Service[], seed: number) {
    this.#replicas = replicas
    this.#choose = randomizer(seed)
    const kinds = [
      () => this.#createByApi(),
      () => this.#changeBySql(),
      () => this.#list(),
      () => this.#list()
    ]
    const workers = kinds.flatMap((step) =>
      Array.from({ length: workersOfAKind }, () => this.#work(step))
    )
    this.#working = Promise.all(workers)
  }

  /**
   * Resolves when each kind of writers has committed this many more times, or a
   * fault has been found.
   */
  async commits(times: number): Promise<void> {
    const before = { ...this.counts }
    const hasCommitted = (result: string) =>
      (this.counts[result] ?? 0) >= (before[result] ?? 0) + times

    await until(
      () =>
        this.#hasFaults() || (hasCommitted('201') && hasCommitted('COMMIT')),
      'creates and transactions commit',
      progressTime
    )
  }

  /** Ends the history, and returns what it found wrong. */
  async stop(): Promise<string[]> {
    this.#isRunning = false
    await this.#working
    // Nothing changes any more: on both replicas it gets a 304.
    for (let requests = 0; requests < 20; requests++) await this.#list()
    const stored = await storedNames(this.#replicas[0]?.databaseUrl ?? '')
    this.#checker.check(stored, this.#checker.tick(), 'the table')

    return [...this.#checker.faults]
  }

  #hasFaults(): boolean {
    return this.#checker.faults.size > 0
  }

  #count(result: string | number): void {
    this.counts[result] = (this.counts[result] ?? 0) + 1
  }

  async #work(step: () => Promise<void>): Promise<void> {
    while (this.#isRunning && !this.#hasFaults()) await step()
  }

  /** Resolves when up to 40 events have happened elsewhere. */
  async #others(): Promise<void> {
    const end = this.#checker.now + this.#choose.random(40)

    await until(
      () => !this.#isRunning || this.#checker.now >= end,
      'others go on',
      progressTime
    )
  }

  async #createByApi(): Promise<void> {
    const { url, key } = this.#choose.pick(this.#replicas)
    const name = randomUUID()
    this.#checker.sendCommit([name])
    const response = await postNote(url, key, name)
    const { code } = (await response.json()) as { code?: string }

    this.#checker.tick()
    if (response.status === 201) this.#checker.record('stored', [name])
    if (code === 'unavailable') this.#checker.reject(name)
    this.#count(code ?? response.status)
    await this.#others()
  }

  /** Replaces a row in a transaction, while others commit higher ids. */
  async #changeBySql(): Promise<void> {
    const added = randomUUID()
    const index = this.#choose.random(this.#removable.length + 1)
    const removed = this.#removable.splice(index, 1)
    const end = this.#choose.pick(['ROLLBACK', 'COMMIT', 'COMMIT'])
    const isCommitted = end === 'COMMIT'

    if (isCommitted) {
      this.#checker.sendCommit([added])
      this.#checker.record('removing', removed)
    }
    try {
      await query(
        this.#replicas[0]?.databaseUrl ?? '',
        `BEGIN;
         INSERT INTO notes (name) VALUES ('${added}');
         DELETE FROM notes WHERE name = '${removed[0]}';
         SELECT pg_sleep(0.1 * random());
         ${end}`
      )
      this.#checker.tick()
      if (isCommitted) {
        this.#checker.record('stored', [added])
        this.#checker.record('removed', removed)
        this.#removable.push(added)
      }
      this.#count(end)
    } catch {
      // Without a response to its COMMIT, lists may show its rows or not.
      this.#count('lost')
    }
    await this.#others()
  }

  async #list(): Promise<void> {
    const { url, auth } = this.#choose.pick(this.#replicas)
    const known = this.#choose.pick(this.#knownLists)
    const headers = {
      ...auth,
      'accept-encoding': this.#choose.pick(['identity', 'gzip', 'br']),
      'if-none-match': known.etag
    }
    const sentAt = this.#checker.tick()
    const response = await fetch(`${url}/v1/notes`, { headers })
    const body = await response.text()
    this.#checker.tick()
    this.#count(response.status)

    if (response.status === 304)
      this.#checker.check(known.names, sentAt, `a 304 for ${known.etag}`)
    else if (response.ok) this.#receive(response.headers, body, sentAt)
    else await setTimeout(20)
  }

  /** Checks a complete list, and remembers it for later requests. */
  #receive(headers: Headers, body: string, sentAt: number): void {
    const etag = String(headers.get('etag'))
    const coding = headers.get('content-encoding') ?? 'identity'
    const rows = JSON.parse(body) as { name: string }[]
    const names = rows.map(({ name }) => name)

    this.#count(coding)
    this.#checker.checkEtag(etag, body)
    this.#checker.check(names, sentAt, 'a list')
    this.#knownLists = [...this.#knownLists, { etag, names }].slice(-2)
  }
}

/**
 * Starts a history, which ends with the test.
 *
 * @param seed of the random choices
 */
export async function startHistory(
  t: Test,
  databaseUrl: string,
  seed: number
): Promise<History> {
  const replicas = [
    await startNotes(t, { databaseUrl }),
    await startNotes(t, { databaseUrl })
  ]
  const history = new History(replicas, seed)
  t.teardown(() => history.stop())

  return history
}
