import { execFileSync } from 'node:child_process'
import { loadByAutocannon } from './autocannon.ts'
import type { Kind } from './plan.ts'
import { loadByWrk } from './wrk.ts'

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

/**
 * Sends requests for some seconds; each connection sends the next one after
 * each response.
 */
type Generator = (target: Target, seconds: number) => Promise<Throughput>

/** wrk says its version, and exits with 1. */
function hasWrk(): boolean {
  try {
    execFileSync('sh', ['-c', 'command -v wrk'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

interface LoadGenerator {
  name: string
  throughput: Generator
}

/**
 * wrk, in C, if it is installed. autocannon, in Node.js, may be slower than the
 * servers that it measures.
 */
export const generator: LoadGenerator = hasWrk()
  ? { name: 'wrk', throughput: loadByWrk }
  : { name: 'autocannon', throughput: loadByAutocannon }
