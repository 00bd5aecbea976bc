// The commands of the incidents of docs/runbook.md find the same with Docker
// Compose and on Kubernetes.
import type { Test } from 'tap'
import { until } from '../../test/support/until.ts'

/** Runs a block of commands of an incident, the first is 0. */
type Incident = (
  name: string,
  block?: number,
  variables?: Record<string, string>
) => Promise<string>

/** Runs the commands that change nothing. */
export async function incidentsAreFound(
  t: Test,
  incident: Incident
): Promise<void> {
  t.match(await incident('database down', 1), /uptime.*standby/)
  t.match(await incident('disk full'), /pg_size_pretty[^]*slot_name/)
  t.match(await incident('disk full', 1), /DELETE 0\nVACUUM/)
  t.match(await incident('disk full', 2), /"createCategory","status":201/)
  t.match(await incident('crash loop'), /^200$/)
  t.match(await incident('key expires'), /valid/)
  t.match(await incident('database slow', 2), /runs_since/)
  t.match(await incident('pool exhausted'), /pet-categories[^]*max_connections/)
  t.match(await incident('overload'), /createCategory/)
  t.match(await incident('flood'), /"key":"1"[^]*"ip":/)
  t.match(await incident('migration pending'), /pet_shop/)
  t.match(await incident('messages not consumed'), /oldest[^]*client_addr/)
  t.match(await incident('client addresses'), /"ip":/)
  t.ok((await clockDifference(incident)) < 60)
}

/** Seconds between the clocks of a replica and of the database. */
async function clockDifference(incident: Incident): Promise<number> {
  const shown = await incident('clock skew')
  const clocks = shown.match(/\d{10}\.\d+/g) ?? []
  const [ofReplica = 0, ofDatabase = 0] = clocks.map(Number)
  return Math.abs(ofReplica - ofDatabase)
}

/**
 * Locks a table, then finds the lock and ends it.
 *
 * @param sql runs a statement as the superuser
 */
export async function lockIsReleased(
  t: Test,
  incident: Incident,
  sql: (statement: string) => Promise<string>
): Promise<void> {
  const locked = sql('BEGIN; LOCK TABLE categories; SELECT pg_sleep(600)')
  // Fails when its connection is ended.
  const ended = t.rejects(locked, /terminating connection/)
  const blocker = /\| +(\d+) \| psql/
  let PID = ''

  const isFound = async () => {
    PID = blocker.exec(await incident('database slow'))?.[1] ?? ''
    return PID !== ''
  }
  await until(isFound, 'the lock is found', 60)
  await incident('database slow', 1, { PID })
  await ended
}
