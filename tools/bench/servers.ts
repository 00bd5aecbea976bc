import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { freePort } from '../../test/support/postgres.ts'
import { until } from '../../test/support/until.ts'

export type Server = Awaited<ReturnType<typeof startServer>>

/** Starts a program, without its log, and waits until it listens. */
export async function startServer(
  program: string,
  databaseUrl: string,
  key: string
) {
  const port = await freePort()
  /** With the version. */
  const url = `http://127.0.0.1:${port}/v1`

  const child = spawn('node', [program], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      DATABASE_URL: databaseUrl,
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
  const settle = async () => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${url}/categories`, { headers })
    await response.arrayBuffer()
    return true
  }
  await until(() => settle().catch(() => false), `${program} listens`)

  return { url, stop, settle, cpu: () => cpuOf(child.pid) }
}

/** Microseconds of CPU of all threads. */
function cpuOf(pid = 0): number {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const file = `/proc/${pid}/task/${thread}/schedstat`
    return Number(readFileSync(file, 'utf8').split(' ')[0])
  })
  return threads.reduce((sum, nanoseconds) => sum + nanoseconds / 1000, 0)
}
