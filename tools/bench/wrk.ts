import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Work } from './plan.ts'
import { usageOf } from './usage.ts'

/** Where a measurement sends its requests. */
export interface Endpoint {
  /** With the version. */
  url: string
  key: string
}

const program = path.resolve('tools/bench/load.lua')

/** What load.lua prints. */
interface Summary {
  requests: number
  /** Microseconds. */
  duration: number
  /** Requests without a successful response. */
  errors: number
  /** Microseconds to respond, at the median and the 99th percentile. */
  p50: number
  p99: number
}

/** A value as Lua, in which a JSON text is a text too, if it is ASCII. */
function lua(value: unknown): string {
  if (typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `{${value.map(lua).join()}}`
  const fields = Object.entries(value ?? {}).map(
    ([name, field]) => `[${lua(name)}]=${lua(field)}`
  )
  return `{${fields.join()}}`
}

/**
 * Sends requests by wrk, with one thread: it must leave a core to the server.
 *
 * @param seconds whole ones
 */
export async function loadByWrk(
  { url, key }: Endpoint,
  { requests, connections }: Work,
  seconds: number
) {
  const authorization = `Bearer ${key}`
  const sent = requests.map(({ path: below, headers, ...request }) => ({
    ...request,
    path: new URL(url).pathname + below,
    headers: { ...headers, authorization }
  }))

  const before = usageOf().childCpu
  const options = `-t1 -c${connections} -d${seconds} --timeout 120s -s`
  const { stdout } = await promisify(execFile)(
    'wrk',
    [...options.split(' '), program, url],
    { env: { ...process.env, REQUESTS: `return ${lua(sent)}` } }
  )
  const cpu = usageOf().childCpu - before

  const [, json = ''] = /SUMMARY (.*)/.exec(stdout) ?? []
  const summary = JSON.parse(json) as Summary
  const responses = summary.requests - summary.errors

  return {
    /** Successful responses. */
    responses,
    /** The same, per second. */
    rate: responses / (summary.duration / 1e6),
    /** Requests without a successful response. */
    failures: summary.errors,
    /** Milliseconds to respond. */
    p50: summary.p50 / 1000,
    p99: summary.p99 / 1000,
    /** Microseconds of CPU of the load generator per request. */
    generatorCpu: cpu / summary.requests
  }
}
