import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import type { Test } from 'tap'
import { embeddedPrograms } from '../../src/postgres/embedded-programs.ts'
import { copyData, migrate, query } from './database.ts'
import { startProxy } from './proxy.ts'
import { until } from './until.ts'

/** A PostgreSQL server for one test, on TCP, that can be killed and restarted. */
export interface OwnPostgres {
  /** Its database, migrated. */
  url: string
  port: number
  /** Kills all its processes, as a machine that fails does. */
  kill: () => Promise<void>
  /** Kills one backend, after which the server ends the others and recovers. Resolves when it responds again. */
  killBackend: () => Promise<void>
  /** Starts it again, and resolves when it responds. */
  start: () => Promise<void>
  /** Shuts it down and starts it again. */
  restart: () => Promise<void>
}

/** Starts a PostgreSQL server with these settings and additional files in its data folder; stopped when the test ends. */
export async function startPostgres(
  t: Test,
  settings: Record<string, string> = {},
  files: Record<string, string> = {}
): Promise<OwnPostgres> {
  // Not t.testdir(), which removes the folder when a test calls it again.
  const directory = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  copyData(directory)
  const data = path.join(directory, 'postgres')
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(data, name), text, { mode: 0o600 })
  const port = await freePort()
  const all = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: '', ...settings }
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const [program = '', ...args] = [...embeddedPrograms().postgres, '-D', data, ...options]
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const run = () => spawn(program, args, { stdio: 'ignore', env: { PATH: process.env['PATH'], TZ: 'UTC' } })
  let server: ChildProcess
  const start = async () => {
    server = run()
    while (!(await query(url, 'SELECT 1').then(Boolean, () => false))) {
      // Shared memory of a killed server remains for a moment, and prevents the start.
      if (server.exitCode !== null) server = run()
    }
  }
  const end = async (processes: number[] = []) => {
    const exited = once(server, 'exit')
    for (const pid of [server.pid ?? 0, ...processes]) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended.
      }
    }
    await exited
  }
  await start()
  t.teardown(async () => {
    if (server.signalCode === null) await end()
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  })
  if (!('standby.signal' in files)) await migrate(url)
  return {
    url,
    port,
    async kill() {
      const processes = await query(url, 'SELECT pid FROM pg_stat_activity')
      await end(processes.map(({ pid }) => Number(pid)))
    },
    async killBackend() {
      const [victim, other] = [new pg.Client(url), new pg.Client(url)]
      await Promise.all([victim.connect(), other.connect()])
      for (const client of [victim, other]) client.on('error', () => {})
      const ended = new Promise<void>((resolve) => other.once('end', resolve))
      const { rows } = await victim.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      process.kill(Number(rows[0]?.pid), 'SIGKILL')
      await ended
      await until(() => query(url, 'SELECT').then(Boolean, () => false), 'PostgreSQL has recovered')
    },
    start,
    async restart() {
      const exited = once(server, 'exit')
      server.kill('SIGINT')
      await exited
      await start()
    }
  }
}

/** Starts a standby of the server at `url`, which has all its data from the same folder of new data. */
export function startStandby(t: Test, url: string, settings: Record<string, string> = {}): Promise<OwnPostgres> {
  const primary = `host=127.0.0.1 port=${new URL(url).port} user=postgres`
  return startPostgres(t, { ...settings, primary_conninfo: primary }, { 'standby.signal': '' })
}

/** A primary and its standby, behind one address. */
export async function startPair(t: Test, settings: Record<string, string>) {
  const primary = await startPostgres(t, settings)
  const link = await startProxy(t, primary.url)
  const standby = await startStandby(t, link.url, settings)
  const proxy = await startProxy(t, primary.url)
  return {
    url: proxy.url,
    /** Lets commits wait for the standby from now on. */
    async replicateSynchronously() {
      await query(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
      await query(primary.url, 'SELECT pg_reload_conf()')
      const isSynchronous = "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
      await until(async () => (await query(primary.url, isSynchronous)).length > 0, 'the standby is synchronous')
    },
    /** The standby has what was committed before, and receives no more. */
    isolate: async () => {
      const [sent] = await query(primary.url, 'SELECT pg_current_wal_flush_lsn() AS lsn')
      const isReceived = async () => {
        const [received] = await query(standby.url, 'SELECT pg_last_wal_replay_lsn() >= $1 AS all', [sent?.['lsn']])
        return received?.['all'] === true
      }
      await until(isReceived, 'the standby has everything')
      link.refuse()
      link.cut()
    },
    kill: primary.kill,
    async promote() {
      await query(standby.url, 'SELECT pg_promote()')
      proxy.state.serverPort = standby.port
      proxy.cut()
    }
  }
}

/** A TCP port of 127.0.0.1 that nothing listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
