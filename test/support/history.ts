import { hash, randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import type { Test } from 'tap'
import { query, storedNames } from './database.ts'
import { post } from './process.ts'
import { randomizer } from './scale.ts'
import { startService } from './service.ts'
import { until } from './until.ts'

/** When a category was stored, and when it began to be removed and was, by the clock of the history. */
const unknown = { stored: Infinity, removing: Infinity, removed: Infinity }

/** Checks lists against what was acknowledged before their requests were sent. */
class Truth {
  now = 0
  readonly faults = new Set<string>()
  readonly #lives = new Map<string, typeof unknown>()
  readonly #bodies = new Map<string, string>()

  /** Lists may show these from now on. */
  allow(names: string[]) {
    for (const name of names) this.#lives.set(name, { ...unknown })
  }

  /** Lists must not show this, which was rejected. */
  forbid(name: string) {
    this.#lives.delete(name)
  }

  record(what: keyof typeof unknown, names: string[]) {
    for (const name of names)
      Object.assign(this.#lives.get(name) ?? {}, { [what]: this.now })
  }

  /** Checks what a response to a request that was sent at this time shows. */
  check(names: string[], sent: number, what: string) {
    const shown = new Set(names)
    if (shown.size < names.length)
      this.faults.add(`${what} shows a category twice`)
    for (const name of shown) {
      if (!this.#lives.has(name))
        this.faults.add(`${what} shows ${name}, which is not committed`)
    }
    for (const [name, { stored, removing, removed }] of this.#lives) {
      if (stored < sent && removing > this.now && !shown.has(name))
        this.faults.add(`${what} misses ${name}`)
      if (removed < sent && shown.has(name))
        this.faults.add(`${what} shows ${name}, which was removed`)
    }
  }

  /** An ETag names one body, in one coding, for ever. */
  checkTag(etag: string, coding: string, body: string) {
    const digest = hash('sha256', coding + body)
    if ((this.#bodies.get(etag) ?? digest) !== digest)
      this.faults.add(`${etag} names two bodies`)
    this.#bodies.set(etag, digest)
  }

  /** A failover lost all but these. */
  keepOnly(names: string[]) {
    this.#lives.clear()
    this.allow(names)
    this.record('stored', names)
  }
}

/** Ten writers and ten readers on two replicas, which share a database that has `max_prepared_transactions`. */
export async function startHistory(t: Test, databaseUrl: string, seed: number) {
  await query(databaseUrl, 'TRUNCATE categories CASCADE')
  const replicas = [
    await startService(t, { databaseUrl }),
    await startService(t, { databaseUrl })
  ]
  const truth = new Truth()
  const { random, pick } = randomizer(seed)
  /** Number of results, such as `201`, `304`, `gzip` or `ROLLBACK`. */
  const counts: Record<string, number> = {}
  const count = (result: string | number) =>
    (counts[result] = (counts[result] ?? 0) + 1)
  const seen = [{ etag: '"none"', names: ['none'] }]
  let removable: string[] = []
  let [isPaused, isStopped, active] = [false, false, 0]

  /** Resolves when so many events have happened elsewhere. */
  function others(events: number) {
    const end = truth.now + events
    return until(
      () => isPaused || isStopped || truth.now >= end,
      'others go on'
    )
  }

  async function createByApi() {
    const { url, key } = pick(replicas)
    const name = randomUUID()
    truth.allow([name])
    const response = await post(url, key, name)
    const { code } = (await response.json()) as { code?: string }
    truth.now++
    if (response.status === 201) truth.record('stored', [name])
    if (code === 'unavailable') truth.forbid(name)
    count(code ?? response.status)
    await others(random(40))
  }

  async function changeBySql() {
    const client = new pg.Client({ connectionString: databaseUrl })
    client.on('error', () => {})
    const name = randomUUID()
    const insert = (name: string) =>
      `INSERT INTO categories (name) VALUES ('${name}')`
    const changes = [
      { sql: insert(name), added: [name], removed: [] as string[] }
    ]
    const [old] = removable.splice(random(removable.length + 1), 1)
    if (old !== undefined) {
      const update = `UPDATE categories SET name = '${name}' WHERE name = '${old}'`
      changes.push({ sql: update, added: [name], removed: [old] })
      changes.push({
        sql: `DELETE FROM categories WHERE name = '${old}'`,
        added: [],
        removed: [old]
      })
    }
    const { sql, added, removed } = pick(changes)
    try {
      await client.connect()
      await client.query(
        `BEGIN ISOLATION LEVEL ${pick(['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'])}`
      )
      await client.query(sql)
      // Others commit higher ids meanwhile.
      if (random(2) === 0) await others(random(100))
      await client.query(
        `SAVEPOINT undone; ${insert(randomUUID())}; ROLLBACK TO undone`
      )
      const end = pick(['ROLLBACK', 'COMMIT', 'COMMIT PREPARED'])
      if (end === 'ROLLBACK') await client.query(end)
      else {
        if (end === 'COMMIT PREPARED')
          await client.query(`PREPARE TRANSACTION '${name}'`)
        truth.allow(added)
        truth.record('removing', removed)
        await client.query(end === 'COMMIT' ? end : `${end} '${name}'`)
        truth.now++
        truth.record('stored', added)
        truth.record('removed', removed)
        removable.push(...added)
      }
      count(end)
    } catch {
      // Without a response to its COMMIT, lists may show its rows or not.
      count('lost')
    }
    await client.end().catch(() => {})
    await others(random(40))
  }

  async function list() {
    const { url, auth } = pick(replicas)
    const known = pick(seen)
    const coded = {
      ...auth,
      'accept-encoding': pick(['identity', 'gzip', 'br'])
    }
    const headers =
      random(4) > 0 ? { ...coded, 'if-none-match': known.etag } : coded
    const sent = ++truth.now
    const response = await fetch(`${url}/v1/categories`, { headers })
    const body = await response.text()
    truth.now++
    count(response.status)
    const etag = String(response.headers.get('etag'))
    if (response.status === 304)
      truth.check(known.names, sent, `a 304 for ${etag}`)
    if (response.status === 503) await setTimeout(20)
    if (response.status !== 200) return
    const coding = response.headers.get('content-encoding') ?? 'identity'
    const names = (JSON.parse(body) as { name: string }[]).map(
      ({ name }) => name
    )
    count(coding)
    truth.checkTag(etag, coding, body)
    truth.check(names, sent, 'a list')
    if (seen.push({ etag, names }) > 2) seen.shift()
  }

  async function listOften() {
    for (let requests = 0; requests < 20; requests++) await list()
  }

  async function work(step: () => Promise<void>) {
    while (!isStopped && truth.faults.size === 0) {
      await until(() => !isPaused || isStopped, 'it goes on')
      active++
      await step().finally(() => active--)
    }
  }
  const steps = [createByApi, changeBySql, list, list].flatMap((step) =>
    Array<typeof step>(5).fill(step)
  )
  const working = Promise.all(steps.map(work))
  const end = () => {
    isStopped = true
    return working
  }
  t.teardown(end)
  return {
    counts,
    /** Resolves when both kinds of writers have each committed so many more times, or a fault has been found. */
    commits(times: number) {
      const before = { ...counts }
      const isDone = () =>
        [201, 'COMMIT'].every(
          (result) => (counts[result] ?? 0) >= (before[result] ?? 0) + times
        )
      return until(
        () => truth.faults.size > 0 || isDone(),
        'creates and transactions commit'
      )
    },
    /** Lets nothing begin, and resolves when nothing is in flight. */
    pause() {
      isPaused = true
      return until(() => active === 0, 'nothing is in flight')
    },
    /** Goes on with the rows that the server has now. */
    async resume() {
      truth.keepOnly(await storedNames(databaseUrl))
      removable = []
      // Before a new change can reveal a stale list.
      await listOften()
      isPaused = false
    },
    /** Ends it, and returns what it found wrong. */
    async stop() {
      await end()
      // Nothing changes any more: on both replicas it gets a 304.
      await listOften()
      truth.check(await storedNames(databaseUrl), ++truth.now, 'the table')
      return [...truth.faults]
    }
  }
}
