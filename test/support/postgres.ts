import { spawn, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
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

/** A PostgreSQL server on TCP. Tests pass its actions on as functions. */
class PostgresServer {
  readonly url: string
  readonly port: number
  readonly #command: string[]
  #process: ChildProcess

  /** @param settings override those of a server on TCP */
  constructor(port: number, data: string, settings: Settings) {
    this.port = port
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`
    const onTcp = {
      listen_addresses: '127.0.0.1',
      port: String(port),
      unix_socket_directories: ''
    }

    this.#command = [
      ...embeddedPrograms()('postgres'),
      '-D',
      data,
      ...optionsOf({ ...onTcp, ...settings })
    ]
    this.#process = this.#spawn()
  }

  get isRunning(): boolean {
    return this.#process.signalCode === null && this.#process.exitCode === null
  }

  /** Starts it again, and resolves when it responds. */
  start = async (): Promise<void> => {
    this.#process = this.#spawn()
    await this.responds()
  }

  /** Kills all its processes, as a machine that fails does. */
  kill = async (): Promise<void> => {
    const backends = await query(this.url, 'SELECT pid FROM pg_stat_activity')
    const exited = this.end('SIGKILL')
    for (const { pid } of backends) killIfRunning(Number(pid))
    await exited
  }

  /** Kills it and starts it again. */
  crash = async (): Promise<void> => {
    await this.kill()
    await this.start()
  }

  /** Shuts it down and starts it again. */
  restart = async (): Promise<void> => {
    await this.end('SIGINT')
    await this.start()
  }

  /**
   * Kills one backend, after which the server ends the others and recovers.
   * Resolves when it responds again.
   */
  killBackend = async (): Promise<void> => {
    const victim = await this.#connect()
    const other = await this.#connect()
    // Not once(), which would reject with the loss of the connection.
    const ended = new Promise((resolve) => other.once('end', resolve))

    const { rows } = await victim.query<{ pid: number }>(
      'SELECT pg_backend_pid() AS pid'
    )
    killIfRunning(Number(rows[0]?.pid))
    await ended
    await this.responds()
  }

  /** Sends the signal to the server, and resolves when that has exited. */
  async end(signal: NodeJS.Signals): Promise<void> {
    const exited = once(this.#process, 'exit')
    this.#process.kill(signal)
    await exited
  }

  async responds(): Promise<void> {
    await until(async () => {
      // Shared memory of a killed server remains for a moment, and prevents the
      // start.
      if (this.#process.exitCode !== null) this.#process = this.#spawn()
      return query(this.url, 'SELECT').then(Boolean, () => false)
    }, 'PostgreSQL responds')
  }

  #spawn(): ChildProcess {
    const [program = '', ...args] = this.#command
    return spawn(program, args, { stdio: 'ignore', env: programEnvironment })
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client(this.url)
    client.on('error', () => {})
    await client.connect()
    return client
  }
}

const optionsOf = (settings: Settings): string[] =>
  Object.entries(settings).map(([name, value]) => `--${name}=${value}`)

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
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
): Promise<PostgresServer> {
  const directory = newData(files)
  const data = path.join(directory, 'postgres')
  const server = new PostgresServer(await freePort(), data, settings)
  t.teardown(async () => {
    if (server.isRunning) await server.end('SIGKILL')
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 })
  })

  await server.responds()
  const isStandby = 'standby.signal' in files
  if (!isStandby) await migrate(server.url)

  return server
}

/** Returns a folder with new data and these files in it. */
function newData(files: Record<string, string>): string {
  // Not t.testdir(), which removes the folder when a test calls it again.
  const directory = mkdtempSync(path.join(tmpdir(), 'petcat-test-'))
  copyData(directory)
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(directory, 'postgres', name)
    writeFileSync(file, text, { mode: 0o600 })
  }

  return directory
}

/** Changes a setting of the server at `url`, which may be read-only. */
export async function configure(url: string, setting: string): Promise<void> {
  await query(url, `ALTER SYSTEM SET ${setting}`)
  await query(url, 'SELECT pg_reload_conf()')
}

type Proxy = Awaited<ReturnType<typeof startProxy>>

interface Pair {
  primary: PostgresServer
  standby: PostgresServer
  /** The connection of the standby to the primary. */
  link: Proxy
  /** The one address of both. */
  proxy: Proxy
}

/** A primary and its standby, behind one address. */
class PostgresPair {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  readonly #link: Proxy
  readonly #proxy: Proxy

  constructor({ primary, standby, link, proxy }: Pair) {
    this.primary = primary
    this.standby = standby
    this.#link = link
    this.#proxy = proxy
  }

  get url(): string {
    return this.#proxy.url
  }

  /** Lets commits wait for the standby from now on. */
  async replicateSynchronously(): Promise<void> {
    const { url } = this.primary
    await configure(url, "synchronous_standby_names = '*'")
    const synchronous =
      "SELECT FROM pg_stat_replication WHERE sync_state = 'sync'"
    await until(
      async () => (await query(url, synchronous)).length > 0,
      'the standby is synchronous'
    )
  }

  /** The standby has what was committed before, and receives no more. */
  async isolate(): Promise<void> {
    const [sent] = await query(
      this.primary.url,
      'SELECT pg_current_wal_flush_lsn() AS lsn'
    )
    await until(
      () => this.#hasReceived(sent?.['lsn']),
      'the standby has everything'
    )
    this.#link.refuse()
    this.#link.cut()
  }

  /** Makes the standby the primary. */
  async promote(): Promise<void> {
    await query(this.standby.url, 'SELECT pg_promote()')
    this.#proxy.state.serverPort = this.standby.port
    this.#proxy.cut()
  }

  async #hasReceived(lsn: unknown): Promise<boolean> {
    const [received] = await query(
      this.standby.url,
      'SELECT pg_last_wal_replay_lsn() >= $1 AS all',
      [lsn]
    )

    return received?.['all'] === true
  }
}

/** Starts a primary and its standby, which are stopped when the test ends. */
export async function startPair(
  t: Test,
  settings: Settings = {}
): Promise<PostgresPair> {
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

  return new PostgresPair({ primary, standby, link, proxy })
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
