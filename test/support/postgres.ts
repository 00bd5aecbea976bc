import { spawn, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { embeddedPrograms } from '../../src/embedded/postgres.ts'
import { copyData, migrate, query } from './database.ts'
import { startProxy } from './proxy.ts'
import { until } from './until.ts'

/**
 * Starts a PostgreSQL server on TCP with a migrated database, which is stopped when the test ends.
 *
 * @param files additional files in its data folder
 */
export async function startPostgres(
  t: Test,
  settings: Record<string, string> = {},
  files: Record<string, string> = {}
) {
  // Not t.testdir(), which removes the folder when a test calls it again.
  const directory = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  copyData(directory)
  const data = path.join(directory, 'postgres')
  for (const [name, text] of Object.entries(files))
    writeFileSync(path.join(data, name), text, { mode: 0o600 })
  const port = await freePort()
  const all = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    ...settings
  }
  const options = Object.entries(all).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`
  ])
  const [program = '', ...args] = [
    ...embeddedPrograms()('postgres'),
    '-D',
    data,
    ...options
  ]
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const run = () =>
    spawn(program, args, {
      stdio: 'ignore',
      env: { PATH: process.env['PATH'], TZ: 'UTC' }
    })
  const responds = () => query(url, 'SELECT').then(Boolean, () => false)
  let server: ChildProcess
  const start = async () => {
    server = run()
    await until(() => {
      // Shared memory of a killed server remains for a moment, and prevents the start.
      if (server.exitCode !== null) server = run()
      return responds()
    }, 'PostgreSQL responds')
  }
  const end = async (
    signal: NodeJS.Signals,
    backends: Record<string, unknown>[] = []
  ) => {
    const exited = once(server, 'exit')
    server.kill(signal)
    for (const { pid } of backends) {
      try {
        process.kill(Number(pid), signal)
      } catch {
        // It has ended.
      }
    }
    await exited
  }
  await start()
  t.teardown(async () => {
    if (server.signalCode === null) await end('SIGKILL')
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  })
  if (!('standby.signal' in files)) await migrate(url)
  const kill = async () =>
    end('SIGKILL', await query(url, 'SELECT pid FROM pg_stat_activity'))
  return {
    url,
    port,
    /** Kills all its processes, as a machine that fails does. */
    kill,
    /** Starts it again, and resolves when it responds. */
    start,
    /** Kills it and starts it again. */
    crash: () => kill().then(start),
    /** Shuts it down and starts it again. */
    restart: () => end('SIGINT').then(start),
    /** Kills one backend, after which the server ends the others and recovers. Resolves when it responds again. */
    killBackend: async () => {
      const [victim, other] = [new pg.Client(url), new pg.Client(url)]
      await Promise.all([victim.connect(), other.connect()])
      for (const client of [victim, other]) client.on('error', () => {})
      const ended = new Promise((resolve) => other.once('end', resolve))
      const { rows } = await victim.query<{ pid: number }>(
        'SELECT pg_backend_pid() AS pid'
      )
      process.kill(Number(rows[0]?.pid), 'SIGKILL')
      await ended
      await until(responds, 'PostgreSQL has recovered')
    }
  }
}

/** Changes a setting of the server at `url`, which may be read-only. */
export async function configure(url: string, setting: string): Promise<void> {
  await query(url, `ALTER SYSTEM SET ${setting}`)
  await query(url, 'SELECT pg_reload_conf()')
}

/** A primary and its standby, behind one address. */
export async function startPair(
  t: Test,
  settings: Record<string, string> = {}
) {
  const primary = await startPostgres(t, settings)
  const link = await startProxy(t, primary.url)
  const conninfo = `host=127.0.0.1 port=${link.port} user=postgres`
  // It starts with the same new data.
  const standby = await startPostgres(
    t,
    { ...settings, primary_conninfo: conninfo },
    { 'standby.signal': '' }
  )
  const proxy = await startProxy(t, primary.url)
  return {
    url: proxy.url,
    primary,
    standby,
    /** Lets commits wait for the standby from now on. */
    async replicateSynchronously() {
      await configure(primary.url, "synchronous_standby_names = '*'")
      const isSynchronous =
        "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
      await until(
        async () => (await query(primary.url, isSynchronous)).length > 0,
        'the standby is synchronous'
      )
    },
    /** The standby has what was committed before, and receives no more. */
    async isolate() {
      const [sent] = await query(
        primary.url,
        'SELECT pg_current_wal_flush_lsn() AS lsn'
      )
      const isReceived = async () => {
        const [received] = await query(
          standby.url,
          'SELECT pg_last_wal_replay_lsn() >= $1 AS all',
          [sent?.['lsn']]
        )
        return received?.['all'] === true
      }
      await until(isReceived, 'the standby has everything')
      link.refuse()
      link.cut()
    },
    async promote() {
      await query(standby.url, 'SELECT pg_promote()')
      proxy.state.serverPort = standby.port
      proxy.cut()
    }
  }
}

/** A free TCP port of 127.0.0.1, below those that the system gives to clients and to port 0: nothing else takes it soon. */
export async function freePort(): Promise<number> {
  const port = randomInt(10_000, 30_000)
  const server = createServer().listen(port, '127.0.0.1')
  const isFree = await once(server, 'listening').then(Boolean, () => false)
  if (!isFree) return freePort()
  server.close()
  await once(server, 'close')
  return port
}
