import { spawn, spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import {
  embeddedPrograms,
  programEnvironment
} from '../../src/framework/embedded/programs.ts'
import { copyData, migrate, query } from './database.ts'
import { startProxy } from './proxy.ts'
import { until } from './until.ts'

/** Settings of PostgreSQL, by name. */
type Settings = Record<string, string>

/** A process of PostgreSQL on TCP. */
function startServer(port: number, data: string, settings: Settings) {
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const [program = '', ...args] = [
    ...embeddedPrograms()('postgres'),
    ...['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', ''],
    ...Object.entries(settings).map(([name, value]) => `--${name}=${value}`)
  ]
  const spawnServer = () =>
    spawn(program, args, { stdio: 'ignore', env: programEnvironment })
  let server = spawnServer()

  const responds = () =>
    until(async () => {
      // Shared memory of a killed server remains for a moment, and prevents the
      // start.
      if (server.exitCode !== null) server = spawnServer()
      return query(url, 'SELECT').then(Boolean, () => false)
    }, 'PostgreSQL responds')

  /** Starts it again, and resolves when it responds. */
  async function start(): Promise<void> {
    server = spawnServer()
    await responds()
  }

  /** Sends the signal to a server that runs; resolves when it has exited. */
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    server.kill(signal)
    await exited
  }

  /** Kills all its processes, as a machine that fails does. */
  async function kill(): Promise<void> {
    const backends = await query(url, 'SELECT pid FROM pg_stat_activity')
    const exited = end('SIGKILL')
    spawnSync('kill', ['-KILL', ...backends.map(({ pid }) => String(pid))])
    await exited
  }

  return { url, port, start, end, kill, responds }
}

/** Ways in which a server may end and come back. */
function strikesOf(server: ReturnType<typeof startServer>) {
  const { url, start, end, kill } = server
  const writer = async () => {
    const sql =
      "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
    const [row] = await query(url, sql).catch(() => [])
    return Number(row?.['pid'] ?? 0)
  }

  return {
    /** Kills it and starts it again. */
    crash: () => kill().then(start),
    /** Shuts it down and starts it again. */
    restart: () => end('SIGINT').then(start),
    /**
     * Kills one of its processes, after which it ends the others and recovers.
     * Resolves when that is done.
     */
    killBackend: async () => {
      const victim = await until(writer, 'PostgreSQL writes')
      process.kill(victim, 'SIGKILL')
      const hasRecovered = async () => ![0, victim].includes(await writer())
      await until(hasRecovered, 'PostgreSQL has recovered')
    }
  }
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
  // Not t.testdir(), which removes the folder when a test calls it again.
  const directory = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  const data = path.join(directory, 'postgres')
  copyData(directory)
  for (const [name, text] of Object.entries(files))
    writeFileSync(path.join(data, name), text, { mode: 0o600 })

  const server = startServer(await freePort(), data, settings)
  t.teardown(async () => {
    await server.end('SIGKILL')
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  })

  await server.responds()
  const isStandby = 'standby.signal' in files
  if (!isStandby) await migrate(server.url)

  return { ...server, ...strikesOf(server) }
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
    link.refuse()
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
