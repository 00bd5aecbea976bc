import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Kind, LoadRequest } from './plan.ts'

/** What a measurement sends, and where. */
export interface Target {
  /** With the version. */
  url: string
  key: string
  kind: Kind
  connections: number
}

export interface Throughput {
  /** Successful responses. */
  responses: number
  /** The same, per second. */
  rate: number
  /** Requests without a successful response. */
  failures: number
  /** Milliseconds to respond, at the median and the 99th percentile. */
  p50: number
  p99: number
  /** Microseconds of CPU of the load generator per request. */
  generatorCpu: number
}

const program = path.resolve('tools/bench/load.lua')

/** What load.lua prints. */
interface Summary {
  requests: number
  /** Microseconds. */
  duration: number
  errors: number
  p50: number
  p99: number
}

/** JSON texts are also texts of Lua, for the ASCII that is sent here. */
const quote = (text: string) => JSON.stringify(text)

/** A request as a table of Lua. */
function tableFor(
  { url, key }: Target,
  { method, path: below, headers, body, freshHeader }: LoadRequest
): string {
  const allHeaders = { ...headers, authorization: `Bearer ${key}` }
  const lines = Object.entries(allHeaders).map(
    ([name, value]) => `[${quote(name)}] = ${quote(value)}`
  )
  const fields = [
    `method = ${quote(method)}`,
    `path = ${quote(new URL(url).pathname + below)}`,
    `headers = { ${lines.join(', ')} }`
  ]
  if (body !== undefined) fields.push(`body = ${quote(body)}`)
  if (freshHeader !== undefined) fields.push(`fresh = ${quote(freshHeader)}`)

  return `{ ${fields.join(', ')} }`
}

/** Microseconds of CPU in what the shell's `times` prints of its children. */
function cpuOfChildren(times: string): number {
  const last = times.trim().split('\n').at(-1) ?? ''
  const parts = last.matchAll(/(\d+)m([\d.]+)s/g)
  const seconds = [...parts].map(
    ([, minutes, rest]) => Number(minutes) * 60 + Number(rest)
  )

  return seconds.reduce((sum, one) => sum + one, 0) * 1e6
}

/**
 * Sends requests by wrk, with one thread: it must leave a core to the server.
 */
export async function loadByWrk(
  target: Target,
  seconds: number
): Promise<Throughput> {
  const { url, kind, connections } = target
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-wrk-'))
  const requests = path.join(folder, 'requests.lua')
  const tables = kind.requests.map((request) => tableFor(target, request))
  writeFileSync(requests, `return {\n${tables.join(',\n')}\n}\n`)

  // wrk knows whole seconds only.
  const duration = Math.max(1, Math.round(seconds))
  const options = `-t1 -c${connections} -d${duration} --timeout 120s`
  const command = `wrk ${options} -s "$PROGRAM" "$URL" && times`
  const { stdout } = await promisify(execFile)('sh', ['-c', command], {
    env: {
      ...process.env,
      PROGRAM: program,
      URL: url,
      REQUESTS: requests,
      FRESH: randomUUID()
    }
  })
  rmSync(folder, { recursive: true })

  const [, json = '', times = ''] = /SUMMARY (.*)\n([^]*)/.exec(stdout) ?? []
  const summary = JSON.parse(json) as Summary
  const responses = summary.requests - summary.errors

  return {
    responses,
    rate: responses / (summary.duration / 1e6),
    failures: summary.errors,
    p50: summary.p50 / 1000,
    p99: summary.p99 / 1000,
    generatorCpu: cpuOfChildren(times) / summary.requests
  }
}
