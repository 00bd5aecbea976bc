import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Recording } from './load.ts'

/** What is measured, in the order of the tables. */
export const servers = {
  service: { title: 'this service', file: 'src/main.js', port: 4001 },
  http: { title: 'bare node:http', file: 'tools/bench/servers/bare-http.js', port: 4002 },
  fastify: { title: 'bare Fastify', file: 'tools/bench/servers/bare-fastify.js', port: 4003 },
  baseline: { title: 'baseline', file: 'tools/bench/servers/baseline.js', port: 4004 },
  express: { title: 'Express', file: 'tools/bench/servers/express.js', port: 4005 }
} as const

export type ServerName = keyof typeof servers
export const serverNames = Object.keys(servers) as ServerName[]

export interface Usage {
  /** Microseconds since the start. */
  cpu: { user: number; system: number }
  /** Bytes. */
  rss: number
  /** Highest `rss` in bytes, and the longest stall of the event loop in milliseconds; after `watch`. */
  peak: number
  longestStall: number
}

export type Server = Awaited<ReturnType<typeof startServer>>

/** Starts a server as a separate process, discards its log, and waits until it listens. */
export async function startServer(name: ServerName, databaseUrl: string, key: string) {
  const { file, port } = servers[name]
  const usage = new URL('servers/usage.js', import.meta.url).href
  const child = spawn(process.execPath, ['--import', usage, fileURLToPath(new URL(`../../${file}`, import.meta.url))], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
      PORT: String(port),
      HOST: '127.0.0.1',
      BENCH_KEY: key,
      // Requests are counted as in production, but never rejected.
      RATE_LIMIT_MAX: '1000000000'
    }
  })
  process.on('exit', () => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/v1/categories`
  const headers = { authorization: `Bearer ${key}` }
  while (
    !(await fetch(url, { headers }).then(
      () => true,
      () => false
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`${file} exited with ${child.exitCode}`)
  }
  return {
    url,
    async usage(): Promise<Usage> {
      const message = once(child, 'message')
      child.send('usage')
      return ((await message) as [Usage])[0]
    },
    /** Starts to record the peak of `rss`. */
    watch: () => child.send('watch'),
    /** Gives a bare server what it sends from now on. */
    replay: (recording: Recording) => child.send(recording),
    /** Waits until the server has finished earlier requests. */
    settle: () => fetch(url, { headers }).then((response) => response.arrayBuffer()),
    async stop() {
      const exit = once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    }
  }
}
