import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** What is measured, in the order of the tables. */
export const servers = {
  service: { title: 'this service', file: 'src/main.js', port: 4001, logLevel: 'info' },
  ceiling: { title: 'ceiling', file: 'tools/bench/servers/ceiling.js', port: 4002, logLevel: 'info' },
  plain: { title: 'plain way', file: 'tools/bench/servers/plain.js', port: 4003, logLevel: 'info' },
  express: { title: 'Express', file: 'tools/bench/servers/express.js', port: 4004, logLevel: 'info' },
  unlogged: { title: 'this service, no log', file: 'src/main.js', port: 4005, logLevel: 'warn' }
} as const

export type ServerName = keyof typeof servers

export interface Usage {
  /** Microseconds. */
  cpu: { user: number; system: number }
  /** Bytes. */
  rss: number
  /** The most of `rss`, in bytes, and milliseconds of the longest stall of the event loop since the last time; after `watch`. */
  peak: number
  longestStall: number
}

export interface Server {
  url: string
  usage: () => Promise<Usage>
  watch: () => void
  /** Says that the table was changed, and waits until the server has answered what it still had to do. */
  settle: (key: string) => Promise<void>
  stop: () => Promise<void>
}

/** Starts one of the servers on the database, as a process of its own whose log goes nowhere, and waits until it listens. */
export async function startServer(name: ServerName, databaseUrl: string): Promise<Server> {
  const { file, port, logLevel } = servers[name]
  const child: ChildProcess = spawn(
    process.execPath,
    [
      '--import',
      new URL('servers/usage.js', import.meta.url).href,
      fileURLToPath(new URL(`../../${file}`, import.meta.url))
    ],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: {
        ...process.env,
        DATABASE_URL: databaseUrl,
        PORT: String(port),
        HOST: '127.0.0.1',
        LOG_LEVEL: logLevel,
        // Counted as in production, and never reached.
        RATE_LIMIT_MAX: '1000000000'
      }
    }
  )
  process.on('exit', () => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}/v1/categories`
  while (
    !(await fetch(url).then(
      () => true,
      () => false
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`${file} ended with ${child.exitCode}`)
  }
  return {
    url,
    async usage() {
      child.send('usage')
      const [usage] = (await once(child, 'message')) as [Usage]
      return usage
    },
    watch: () => child.send('watch'),
    async settle(key) {
      child.send('reload')
      await fetch(url, { headers: { authorization: `Bearer ${key}` } }).then((response) => response.arrayBuffer())
    },
    async stop() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
  }
}
