import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { freePort } from '../../test/support/postgres.ts'
import { until } from '../../test/support/until.ts'

/** What is measured: a program in Node.js, or what a compiler builds. */
interface Program {
  title: string
  file: string
  build?: string
  hasPets?: boolean
}

/** Where `npm run build` of this package puts the servers in TypeScript. */
const built = 'tools/bench/dist/tools/bench/servers'

/** In the order of the tables. */
export const programs: Program[] = [
  { title: 'this service', file: 'dist/src/main.js', hasPets: true },
  { title: 'bare Fastify', file: `${built}/bare-fastify.js`, hasPets: true },
  {
    title: 'Go',
    file: 'tools/bench/servers/go/target/peer',
    build: 'go build -o target/peer .'
  },
  {
    title: 'Rust',
    file: 'tools/bench/servers/rust/target/release/peer',
    build: 'cargo build --release --locked --quiet --target-dir target'
  },
  { title: 'baseline', file: `${built}/baseline.js`, hasPets: true }
]

/** Builds a peer in another language. Returns whether it can be measured. */
export function build({ file, build: command }: Program): boolean {
  const cwd = file.replace(/target.*/, '')
  return (
    command === undefined ||
    spawnSync(command, { cwd, shell: true, stdio: 'inherit' }).status === 0
  )
}

/** A server that is measured, as a process without its log. */
export class Server {
  /** With the version. */
  readonly url: string
  readonly program: Program
  readonly #key: string
  readonly #child: ChildProcess

  constructor(
    program: Program,
    key: string,
    port: number,
    env: Record<string, string>
  ) {
    this.url = `http://127.0.0.1:${port}/v1`
    this.program = program
    this.#key = key

    const command = program.build === undefined ? [process.execPath] : []
    const [file = '', ...options] = [...command, path.resolve(program.file)]
    this.#child = spawn(file, options, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        ...env,
        PORT: String(port),
        HOST: '127.0.0.1',
        BENCH_KEY: key,
        // Requests are counted as in production, but never rejected.
        MAX_REQUESTS_PER_MINUTE: '1000000000'
      }
    })
    process.on('exit', () => this.#child.kill('SIGKILL'))
  }

  /** Microseconds of CPU: /proc has clock ticks of 10 ms. */
  cpu(): number {
    const stat = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8')
    const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(stat) ?? []
    return (Number(user) + Number(system)) * 10_000
  }

  /** Waits until the server has finished earlier requests. */
  async settle(method = 'GET'): Promise<void> {
    const response = await fetch(`${this.url}/categories`, {
      method,
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

/**
 * Starts a server, and waits until it listens.
 *
 * @param service the base URL of the service, from which bare Fastify copies
 */
export async function startServer(
  program: Program,
  databaseUrl: string,
  key: string,
  service = ''
): Promise<Server> {
  const isPeer = program.build !== undefined
  const server = new Server(program, key, await freePort(), {
    DATABASE_URL: isPeer ? parametersOf(databaseUrl) : databaseUrl,
    SERVICE: service
  })
  const listens = () =>
    server.settle().then(
      () => true,
      () => false
    )
  await until(listens, `${program.title} listens`)
  return server
}

/**
 * The parameters of a URL, whose host can be in the query: not every driver
 * reads it there.
 */
function parametersOf(databaseUrl: string): string {
  const { host, port, user, password, database } = new pg.Client(databaseUrl)
  const parameters = { host, port, user, password, dbname: database }

  return Object.entries(parameters)
    .map(([name, value]) => `${name}='${value ?? ''}'`)
    .join(' ')
}
