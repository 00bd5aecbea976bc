import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import {
  embeddedPrograms,
  programEnvironment
} from '../../src/framework/embedded/programs.ts'
import { copyData, temporaryFolder, migrate, query } from './database.ts'
import { startProxy } from './proxy.ts'
import { until } from './until.ts'

/** Settings of PostgreSQL, by name. */
type Settings = Record<string, string>

/** The commands that start and end a server, which wait until it is done. */
function commandsOf(directory: string, data: string) {
  const [program = '', ...args] = embeddedPrograms(data)('pg_ctl')
  args.push('-D', data, '-l', path.join(directory, 'log'))
  const run = (...action: string[]) =>
    promisify(execFile)(program, [...args, ...action], {
      env: programEnvironment
    })

  return {
    start: () => run('start'),
    /** Ends it without a checkpoint, as a machine that fails does. */
    kill: () => run('stop', '--mode=immediate'),
    crash: () => run('restart', '--mode=immediate'),
    restart: () => run('restart')
  }
}

/**
 * Kills one process of the server, which then ends the others and recovers.
 * Resolves when that is done.
 */
async function killBackend(url: string): Promise<void> {
  const sql =
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
  const writer = async () => {
    const [row] = await query(url, sql).catch(() => [])
    return Number(row?.['pid'] ?? 0)
  }
  const victim = await until(writer, 'PostgreSQL writes')
  process.kill(victim, 'SIGKILL')
  const hasRecovered = async () => ![0, victim].includes(await writer())
  await until(hasRecovered, 'PostgreSQL has recovered')
}

/**
 * Starts a PostgreSQL server on TCP with a migrated database, which is stopped
 * when the test ends.
 *
 * @param files additional files in its data folder, by name
 */
export async function startPostgres(
  t: Test,
  settings: Settings = {},
  files: Record<string, string> = {}
) {
  const directory = temporaryFolder(t)
  const data = path.join(directory, 'postgres')
  copyData(directory)
  for (const [name, text] of Object.entries(files))
    writeFileSync(path.join(data, name), text, { mode: 0o600 })

  const port = await freePort()
  const own = { port, unix_socket_directories: '', ...settings }
  for (const [name, value] of Object.entries(own))
    appendFileSync(
      path.join(data, 'postgresql.auto.conf'),
      `${name} = '${value}'\n`
    )

  const commands = commandsOf(directory, data)
  // It may have ended.
  t.teardown(() => commands.kill().catch(() => {}))
  await commands.start()

  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const isStandby = 'standby.signal' in files
  if (!isStandby) await migrate(url)

  return { url, port, ...commands, killBackend: () => killBackend(url) }
}

/** Changes a setting of the server at `url`, which may be read-only. */
export async function configure(url: string, setting: string): Promise<void> {
  await query(url, `ALTER SYSTEM SET ${setting}`)
  await query(url, 'SELECT pg_reload_conf()')
}

/** Resolves when the statement returns a row. */
const returnsRow = (url: string, sql: string) =>
  until(async () => (await query(url, sql)).length > 0, sql)

/**
 * Starts a primary and its standby behind one address, which are stopped when
 * the test ends.
 */
export async function startPair(t: Test, settings: Settings = {}) {
  const primary = await startPostgres(t, settings)
  const link = await startProxy(t, primary.url)
  const primary_conninfo = `host=127.0.0.1 port=${link.port} user=postgres`
  // It starts with the same new data.
  const standby = await startPostgres(
    t,
    { ...settings, primary_conninfo },
    { 'standby.signal': '' }
  )
  const proxy = await startProxy(t, primary.url)

  /** The standby has what was committed before, and receives no more. */
  async function isolate(): Promise<void> {
    const flushed = 'SELECT pg_current_wal_flush_lsn()::text AS lsn'
    const [sent] = await query(primary.url, flushed)
    const received = `SELECT WHERE pg_last_wal_replay_lsn() >= '${String(sent?.['lsn'])}'`
    await returnsRow(standby.url, received)
    link.state.serverPort = 1 // Nothing listens there.
    link.cut()
  }

  /** Lets commits wait for the standby from now on. */
  async function replicateSynchronously(): Promise<void> {
    await configure(primary.url, "synchronous_standby_names = '*'")
    const isSynchronous =
      "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
    await returnsRow(primary.url, isSynchronous)
  }

  /** Makes the standby the primary. */
  async function promote(): Promise<void> {
    await query(standby.url, 'SELECT pg_promote()')
    proxy.state.serverPort = standby.port
    proxy.cut()
  }

  return {
    primary,
    standby,
    url: proxy.url,
    replicateSynchronously,
    isolate,
    promote
  }
}

/**
 * A free TCP port of 127.0.0.1, below those that the system gives to clients
 * and to port 0: nothing else takes it soon.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(10_000, 30_000)
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').then(Boolean, () => false)
  if (!isFree) return freePort()
  server.close()
  await once(server, 'close')

  return port
}
