import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Work } from './plan.ts'

/** What load.lua prints. */
interface Summary {
  requests: number
  /** Microseconds. */
  duration: number
  /** Requests without a successful response. */
  errors: number
}

/**
 * Sends requests by wrk for a second, with one thread: it must leave a core to
 * the server.
 *
 * @param url with the version
 * @throws Error if a request fails
 */
export async function loadByWrk(
  url: string,
  key: string,
  { title, requests, connections }: Work
): Promise<Summary> {
  const version = new URL(url).pathname
  const lines = requests.map(({ method, path, body }) => {
    const json = body ? JSON.stringify(body) : ''
    return `${method}\t${version}${path}\t${json}\n`
  })
  const env = {
    ...process.env,
    REQUESTS: lines.join(''),
    AUTHORIZATION: `Bearer ${key}`
  }
  const options = `-t1 -c${connections} -d1 --timeout=120s --script=tools/bench/load.lua`
  const { stdout } = await promisify(execFile)(
    'wrk',
    [...options.split(' '), url],
    { env }
  )
  const [, json = ''] = /SUMMARY (.*)/.exec(stdout) ?? []
  const summary = JSON.parse(json) as Summary
  if (summary.errors > 0) throw new Error(`${title} at ${url}: ${json}`)
  return summary
}
