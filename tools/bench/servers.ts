import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { freePort } from '../../test/support/postgres.ts'
import type { Recording } from './record.ts'

/** Where `npm run build` of this package puts the servers in TypeScript. */
const built = 'tools/bench/dist/tools/bench/servers'

/**
 * What is measured, in the order of the tables: a Node.js program, or what
 * builds a peer in another language.
 */
export const servers: Record<
  ServerName,
  { title: string; file: string; build?: string; hasPets?: boolean }
> = {
  service: { title: 'this service', file: 'dist/src/main.js', hasPets: true },
  fastify: {
    title: 'bare Fastify',
    file: `${built}/bare-fastify.js`,
    hasPets: true
  },
  go: {
    title: 'Go',
    file: 'tools/bench/servers/go/target/peer',
    build: 'go build -o target/peer .'
  },
  rust: {
    title: 'Rust',
    file: 'tools/bench/servers/rust/target/release/peer',
    build: 'cargo build --release --locked --quiet --target-dir target'
  },
  baseline: {
    title: 'baseline',
    file: `${built}/baseline.js`,
    hasPets: true
  }
}

export type ServerName = 'service' | 'fastify' | 'go' | 'rust' | 'baseline'
export const serverNames = Object.keys(servers) as ServerName[]

export interface Usage {
  /** Microseconds of CPU since the start. */
  cpu: number
  /** Bytes. */
  rss: number
}

/**
 * Builds a peer in another language. Returns why it cannot be measured, or
 * undefined.
 */
export function build(name: ServerName): string | undefined {
  const { file, build: command } = servers[name]
  if (command === undefined) return undefined

  const [compiler = '', ...options] = command.split(' ')
  const { error, status } = spawnSync(compiler, options, {
    cwd: path.resolve(file.replace(/target.*/, '')),
    stdio: 'inherit'
  })
  if (error !== undefined) return `${compiler} is not installed`

  return status === 0 ? undefined : 'its build failed'
}

/** Starts a server as a process of its own, without its log. */
function spawnServer(
  name: ServerName,
  databaseUrl: string,
  key: string,
  port: number
): ChildProcess {
  const { file, build: isBuilt } = servers[name]
  const usage = path.resolve(`${built}/usage.js`)
  const command = isBuilt ? [] : [process.execPath, '--import', usage]
  const [program = '', ...options] = [...command, path.resolve(file)]

  return spawn(program, options, {
    stdio: ['pipe', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      DATABASE_URL: isBuilt ? parametersOf(databaseUrl) : databaseUrl,
      PORT: String(port),
      HOST: '127.0.0.1',
      BENCH_KEY: key,
      // Requests are counted as in production, but never rejected.
      MAX_REQUESTS_PER_MINUTE: '1000000000'
    }
  })
}

/** A server that is measured, as a process. */
export class Server {
  /** With the version. */
  readonly url: string
  readonly #name: ServerName
  readonly #key: string
  readonly #child: ChildProcess

  constructor(
    name: ServerName,
    databaseUrl: string,
    key: string,
    port: number
  ) {
    this.url = `http://127.0.0.1:${port}/v1`
    this.#name = name
    this.#key = key
    this.#child = spawnServer(name, databaseUrl, key, port)
    process.on('exit', () => this.#child.kill('SIGKILL'))
  }

  /** Resolves when the server responds. */
  async listens(): Promise<void> {
    for (;;) {
      try {
        await this.settle()
        return
      } catch {
        const { exitCode } = this.#child
        if (exitCode !== null)
          throw new Error(`${servers[this.#name].file} exited with ${exitCode}`)
      }
    }
  }

  async usage(): Promise<Usage> {
    const isNode = servers[this.#name].build === undefined
    if (!isNode) return usageOf(this.#child.pid)

    const message = once(this.#child, 'message')
    this.#child.send('usage')
    const [usage] = (await message) as [Usage]

    return usage
  }

  /** Gives a bare server what it sends from now on. */
  replay(recording: Recording): void {
    this.#child.send(recording)
  }

  /** Waits until the server has finished earlier requests. */
  async settle(): Promise<void> {
    const response = await fetch(`${this.url}/categories`, {
      headers: { authorization: `Bearer ${this.#key}` }
    })
    await response.arrayBuffer()
  }

  async stop(): Promise<void> {
    const exit = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exit
  }
}

/** Starts a server, and waits until it listens. */
export async function startServer(
  name: ServerName,
  databaseUrl: string,
  key: string
): Promise<Server> {
  const server = new Server(name, databaseUrl, key, await freePort())
  await server.listens()
  return server
}

/**
 * The parameters of a URL, whose host can be in the query: not every driver
 * reads it there.
 */
function parametersOf(databaseUrl: string): string {
  const client = new pg.Client(databaseUrl)
  const parameters = {
    host: client.host,
    port: client.port,
    user: client.user ?? '',
    password: client.password ?? '',
    dbname: client.database ?? ''
  }

  return Object.entries(parameters)
    .map(([name, value]) => `${name}='${value}'`)
    .join(' ')
}

/** Microseconds in a clock tick of /proc. */
const clockTick = 10_000

/**
 * The usage of a process that does not report it itself: from /proc, which only
 * Linux has.
 */
function usageOf(pid: number | undefined): Usage {
  const read = (file: string) =>
    process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/${file}`, 'utf8')
      : ''
  // The twelfth and thirteenth value behind the name of the process.
  const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(read('stat')) ?? []
  const [, kilobytes] = /VmRSS:\s*(\d+)/.exec(read('status')) ?? []

  return {
    cpu: (Number(user) + Number(system)) * clockTick,
    rss: Number(kilobytes) * 1024
  }
}
