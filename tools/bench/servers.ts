import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { freePort } from '../../test/support/postgres.ts'
import { until } from '../../test/support/until.ts'

/** What is measured: a program in Node.js, or what a compiler builds. */
interface Program {
  title: string
  command: string
  build?: string
  hasPets?: boolean
}

/** Where `npm run build` of this package puts the servers in TypeScript. */
const built = 'tools/bench/dist/tools/bench/servers'
const go = 'tools/bench/servers/go'
const rust = 'tools/bench/servers/rust'

/** In the order of the tables. */
export const programs: Program[] = [
  { title: 'this service', command: 'node dist/src/main.js', hasPets: true },
  {
    title: 'bare Fastify',
    command: `node ${built}/bare-fastify.js`,
    hasPets: true
  },
  {
    title: 'Go',
    build: `cd ${go} && go build -o target/peer .`,
    command: `${go}/target/peer`
  },
  {
    title: 'Rust',
    build: `cd ${rust} && cargo build --release --locked --quiet --target-dir target`,
    command: `${rust}/target/release/peer`
  },
  { title: 'baseline', command: `node ${built}/baseline.js`, hasPets: true }
]

/** Builds a peer in another language. Returns whether it can be measured. */
export const build = ({ build: command }: Program): boolean =>
  command === undefined ||
  spawnSync(command, { shell: true, stdio: 'inherit' }).status === 0

export type Server = Awaited<ReturnType<typeof startServer>>

/**
 * Starts a server as a process without its log, and waits until it listens.
 *
 * @param service the base URL of the service, from which bare Fastify copies
 */
export async function startServer(
  program: Program,
  databaseUrl: string,
  key: string,
  service = ''
) {
  const port = await freePort()
  /** With the version. */
  const url = `http://127.0.0.1:${port}/v1`

  const [file = '', ...options] = program.command.split(' ')
  const child = spawn(file, options, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      // The drivers of peers would try the host before the socket.
      DATABASE_URL: program.build
        ? databaseUrl.replace('localhost', '')
        : databaseUrl,
      SERVICE: service,
      PORT: String(port),
      HOST: '127.0.0.1',
      BENCH_KEY: key,
      // Requests are counted as in production, but never rejected.
      MAX_REQUESTS_PER_MINUTE: '1000000000'
    }
  })
  const stop = () => child.kill('SIGKILL')
  process.on('exit', stop)

  /** Waits until the server has finished earlier requests. */
  const settle = async (method = 'GET') => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${url}/categories`, { method, headers })
    await response.arrayBuffer()
    return true
  }
  const listens = () => settle().catch(() => false)
  await until(listens, `${program.title} listens`)

  return { program, url, stop, settle, cpu: () => cpuOf(child.pid) }
}

/** Microseconds of CPU of all threads. */
export function cpuOf(pid = 0): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const file = `/proc/${pid}/task/${thread}/schedstat`
    return Number(readFileSync(file, 'utf8').split(' ')[0])
  })
  return threads.reduce((sum, nanoseconds) => sum + nanoseconds / 1000, 0)
}
