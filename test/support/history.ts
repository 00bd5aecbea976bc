import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { Test } from 'tap'
import { query } from './database.ts'
import { ListHistoryChecker } from './list-history-checker.ts'
import { startNotes, storedNames } from './notes.ts'
import { postNamed } from './process.ts'
import { type Randomizer, randomizer } from './scale.ts'
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

/** A change of the notes by SQL, and the names that it adds and removes. */
interface Change {
  sql: string
  added: string[]
  removed: string[]
}

/** A list that a client has, and its validator. */
interface KnownList {
  etag: string
  names: string[]
}

/** Changes that a transaction can make: two of them need a row that exists. */
function possibleChanges(name: string, existing: string | undefined): Change[] {
  const insert = `INSERT INTO notes (name) VALUES ('${name}')`
  const one = `WHERE name = '${existing}'`
  const added = [name]
  const removed = existing === undefined ? [] : [existing]
  const changes = [
    { sql: insert, added, removed: [] },
    { sql: `UPDATE notes SET name = '${name}' ${one}`, added, removed },
    { sql: `DELETE FROM notes ${one}`, added: [], removed }
  ]

  return existing === undefined ? changes.slice(0, 1) : changes
}

/** Ten writers and ten readers on two replicas, with a checker of the lists. */
class History {
  /** Number of results, such as `201`, `304`, `gzip` or `ROLLBACK`. */
  readonly counts: Record<string, number> = {}
  readonly #databaseUrl: string
  readonly #replicas: Service[]
  readonly #checker = new ListHistoryChecker()
  readonly #choose: Randomizer
  #working: Promise<unknown> = Promise.resolve()
  #isRunning = false
  /** The last lists, oldest first. */
  #knownLists: KnownList[] = [{ etag: '"none"', names: ['none'] }]
  /** Names that a transaction may remove. */
  #removable: string[] = []

  constructor(databaseUrl: string, replicas: Service[], seed: number) {
    this.#databaseUrl = databaseUrl
    this.#replicas = replicas
    this.#choose = randomizer(seed)
  }

  start(): void {
    this.#isRunning = true
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

  /** Starts nothing more, and resolves when nothing is in flight. */
  async pause(): Promise<void> {
    this.#isRunning = false
    await this.#working
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

  /** Goes on with the rows that the server has now. */
  async resume(): Promise<void> {
    this.#checker.keepOnly(await storedNames(this.#databaseUrl))
    this.#removable = []
    // Before a new change can reveal a stale list.
    await this.#listOften()
    this.start()
  }

  /** Ends the history, and returns what it found wrong. */
  async stop(): Promise<string[]> {
    await this.pause()
    // Nothing changes any more: on both replicas it gets a 304.
    await this.#listOften()
    const stored = await storedNames(this.#databaseUrl)
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

  /** Resolves when up to this many events have happened elsewhere. */
  async #others(limit: number): Promise<void> {
    const end = this.#checker.now + this.#choose.random(limit)

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
    const response = await postNamed(url, key, name, 'notes')
    const { code } = (await response.json()) as { code?: string }

    this.#checker.tick()
    if (response.status === 201) this.#checker.record('stored', [name])
    if (code === 'unavailable') this.#checker.reject(name)
    this.#count(code ?? response.status)
    await this.#others(40)
  }

  /** Changes a row in a transaction, while others commit higher ids. */
  async #changeBySql(): Promise<void> {
    const name = randomUUID()
    const index = this.#choose.random(this.#removable.length + 1)
    const [existing] = this.#removable.splice(index, 1)
    const changes = possibleChanges(name, existing)
    const { sql, added, removed } = this.#choose.pick(changes)
    const end = this.#choose.pick(['ROLLBACK', 'COMMIT', 'COMMIT'])
    const isCommitted = end === 'COMMIT'
    const begun = `BEGIN; ${sql}; SELECT pg_sleep(0.1 * random())`

    if (isCommitted) {
      this.#checker.sendCommit(added)
      this.#checker.record('removing', removed)
    }
    try {
      await query(this.#databaseUrl, `${begun}; ${end}`)
      this.#checker.tick()
      if (isCommitted) {
        this.#checker.record('stored', added)
        this.#checker.record('removed', removed)
        this.#removable.push(...added)
      }
      this.#count(end)
    } catch {
      // Without a response to its COMMIT, lists may show its rows or not.
      this.#count('lost')
    }
    await this.#others(40)
  }

  async #list(): Promise<void> {
    const { url, auth } = this.#choose.pick(this.#replicas)
    const knownList = this.#choose.pick(this.#knownLists)
    const headers: Record<string, string> = {
      ...auth,
      'accept-encoding': this.#choose.pick(['identity', 'gzip', 'br'])
    }
    if (this.#choose.random(4) > 0) headers['if-none-match'] = knownList.etag

    const sentAt = this.#checker.tick()
    const response = await fetch(`${url}/v1/notes`, { headers })
    const body = await response.text()
    this.#checker.tick()
    this.#count(response.status)

    switch (response.status) {
      case 304:
        this.#checker.check(
          knownList.names,
          sentAt,
          `a 304 for ${knownList.etag}`
        )
        break
      case 200:
        this.#receive(response.headers, body, sentAt)
        break
      case 503:
        await setTimeout(20)
    }
  }

  /** Checks a complete list, and remembers it for later requests. */
  #receive(headers: Headers, body: string, sentAt: number): void {
    const etag = String(headers.get('etag'))
    const coding = headers.get('content-encoding') ?? 'identity'
    const rows = JSON.parse(body) as { name: string }[]
    const names = rows.map(({ name }) => name)

    this.#count(coding)
    this.#checker.checkEtag(etag, coding, body)
    this.#checker.check(names, sentAt, 'a list')
    this.#knownLists = [...this.#knownLists, { etag, names }].slice(-2)
  }

  async #listOften(): Promise<void> {
    for (let requests = 0; requests < 20; requests++) await this.#list()
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
  await query(databaseUrl, 'TRUNCATE notes CASCADE')
  const replicas = [
    await startNotes(t, { databaseUrl }),
    await startNotes(t, { databaseUrl })
  ]
  const history = new History(databaseUrl, replicas, seed)
  history.start()
  t.teardown(() => history.pause())

  return history
}
