import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import type { Recording } from './load.ts'

/** Where `npm run build` of this package puts the servers in TypeScript. */
const built = 'tools/bench/dist/tools/bench/servers'

/** What is measured, in the order of the tables: a Node.js program, or what builds a peer in another language. */
export const servers: Record<
  ServerName,
  { title: string; file: string; build?: string; hasPets?: boolean }
> = {
  service: { title: 'this service', file: 'dist/src/main.js', hasPets: true },
  http: {
    title: 'bare node:http',
    file: `${built}/bare-http.js`,
    hasPets: true
  },
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
  },
  express: { title: 'Express', file: `${built}/express.js` }
}

export type ServerName =
  'service' | 'http' | 'fastify' | 'go' | 'rust' | 'baseline' | 'express'
export const serverNames = Object.keys(servers) as ServerName[]

export interface Usage {
  /** Microseconds of CPU since the start. */
  cpu: number
  /** Bytes. */
  rss: number
  /** Highest `rss` in bytes, and the longest stall of the event loop in milliseconds; after `watch`. */
  peak: number
  longestStall: number
}

/** Builds a peer in another language. Returns why it cannot be measured, or undefined. */
export function build(name: ServerName): string | undefined {
  const { file, build } = servers[name]
  const [command, ...options] = build?.split(' ') ?? []
  if (command === undefined) return undefined
  const { error, status } = spawnSync(command, options, {
    cwd: path.resolve(file.replace(/target.*/, '')),
    stdio: 'inherit'
  })
  if (error !== undefined) return `${command} is not installed`
  return status === 0 ? undefined : 'its build failed'
}

export type Server = Awaited<ReturnType<typeof startServer>>

/** Starts a server as a separate process, discards its log, and waits until it listens. */
export async function startServer(
  name: ServerName,
  databaseUrl: string,
  key: string
) {
  const { file, build } = servers[name]
  const usage = new URL('servers/usage.js', import.meta.url).href
  const command =
    build === undefined ? [process.execPath, '--import', usage] : []
  const port = 4001 + serverNames.indexOf(name)
  const [program = '', ...options] = [...command, path.resolve(file)]
  const child = spawn(program, options, {
    stdio: ['pipe', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      DATABASE_URL:
        build === undefined ? databaseUrl : parametersOf(databaseUrl),
      PORT: String(port),
      HOST: '127.0.0.1',
      BENCH_KEY: key,
      // Requests are counted as in production, but never rejected.
      MAX_REQUESTS_PER_MINUTE: '1000000000'
    }
  })
  process.on('exit', () => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/v1`
  const headers = { authorization: `Bearer ${key}` }
  while (
    !(await fetch(`${url}/categories`, { headers }).then(
      () => true,
      () => false
    ))
  ) {
    if (child.exitCode !== null)
      throw new Error(`${file} exited with ${child.exitCode}`)
  }
  return {
    url,
    async usage(): Promise<Usage> {
      if (build !== undefined) return usageOf(child.pid)
      const message = once(child, 'message')
      child.send('usage')
      return ((await message) as [Usage])[0]
    },
    /** Starts to record the peak of `rss`. */
    watch: () => child.send('watch'),
    /** Gives a bare server what it sends from now on. */
    replay: (recording: Recording) => child.send(recording),
    /** Waits until the server has finished earlier requests. */
    settle: () =>
      fetch(`${url}/categories`, { headers }).then((response) =>
        response.arrayBuffer()
      ),
    async stop() {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    }
  }
}

/** The parameters of a URL, whose host can be in the query: not every driver reads it there. */
function parametersOf(databaseUrl: string): string {
  const { host, port, user, password, database } = new pg.Client(databaseUrl)
  return `host='${host}' port=${port} user='${user}' password='${password ?? ''}' dbname='${database}'`
}

/** The usage of a process that does not report it itself: from /proc, which only Linux has. */
function usageOf(pid: number | undefined): Usage {
  const read = (file: string) =>
    process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/${file}`, 'utf8')
      : ''
  // In hundredths of a second, the twelfth and thirteenth value behind the name of the process.
  const [, user, system] = /\) (?:\S+ ){11}(\d+) (\d+)/.exec(read('stat')) ?? []
  const [, rss] = /VmRSS:\s*(\d+)/.exec(read('status')) ?? []
  return {
    cpu: (Number(user) + Number(system)) * 10_000,
    rss: Number(rss) * 1024,
    peak: NaN,
    longestStall: NaN
  }
}
