import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { format, resolveConfig } from 'prettier'
import { type Plan, titleOf, type Work } from './plan.ts'
import { type ServerName, servers } from './servers.ts'
import type { Throughput } from './wrk.ts'

export interface Sample extends Throughput {
  /** Microseconds of CPU of the server per request. */
  cpuPerRequest: number
  /** Bytes resident at the end. */
  rss: number
}

/** One work, with the samples of each round by server. */
export interface Result {
  work: Work
  samples: Map<ServerName, Sample[]>
}

/** What a benchmark found. */
export interface Findings {
  plan: Plan
  results: Result[]
  /** Which servers were not measured, and why. */
  missing: string[]
  /** The version of PostgreSQL. */
  postgres: string
}

/** The findings as Markdown. */
export function report(findings: Findings): string {
  const { plan, results, missing, postgres } = findings

  return [
    '# Benchmark results',
    'Written by `npm run bench`. ' +
      '[docs/performance.md](../../docs/performance.md) describes the ' +
      'servers.',
    conditions(plan, postgres),
    [...missing, failures(results)].join('\n'),
    ...ratioSection(results),
    ...rateSection(results),
    ...latencySection(results),
    ...usageSection(results)
  ].join('\n\n')
}

/** A table with a row for each work, and a column for each server. */
function workTable(
  results: Result[],
  columns: ServerName[],
  cell: (samples: Result['samples'], name: ServerName) => string,
  prefix = ''
): string {
  const titles = columns.map((name) => prefix + servers[name].title)
  const rows = results.map(({ work, samples }) => [
    titleOf(work),
    ...columns.map((name) => cell(samples, name))
  ])

  return table(['work', ...titles], rows)
}

const measured = (results: Result[]): ServerName[] => [
  ...(results[0]?.samples.keys() ?? [])
]

function ratioSection(results: Result[]): string[] {
  const peers = measured(results).filter((name) => name !== 'service')

  return [
    '## Ratios',
    'Requests per second of this service, divided by those of the others: ' +
      'the median of the rounds, and their range.',
    workTable(results, peers, ratio, '÷ ')
  ]
}

function rateSection(results: Result[]): string[] {
  const cell = (samples: Result['samples'], name: ServerName) =>
    rateAndCpu(samples.get(name) ?? [])

  return [
    '## Requests per second',
    `In parentheses: microseconds of CPU per request, of the server and of the load generator, wrk. ` +
      'Where the second is the larger one, the load generator is the limit.',
    workTable(results, measured(results), cell)
  ]
}

function latencySection(results: Result[]): string[] {
  const cell = (samples: Result['samples'], name: ServerName) => {
    const p50 = decimal(median(samples, name, 'p50'))
    const p99 = decimal(median(samples, name, 'p99'))
    return `${p50}, ${p99}`
  }

  return [
    '## Milliseconds per request',
    'Median and 99th percentile, while each connection sends as fast as it ' +
      'gets responses.',
    workTable(results, measured(results), cell)
  ]
}

function usageSection(results: Result[]): string[] {
  const cell = (samples: Result['samples'], name: ServerName) =>
    mib(median(samples, name, 'rss'))

  return [
    '## Memory of the server',
    'MiB resident at the end.',
    workTable(results, measured(results), cell)
  ]
}

export async function writeReport(text: string): Promise<void> {
  const file = 'tools/bench/RESULTS.md'
  writeFileSync(
    file,
    await format(text, { ...(await resolveConfig(file)), parser: 'markdown' })
  )
}

function conditions({ title, seconds }: Plan, postgres: string): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    encoding: 'utf8'
  }).trim()
  const memory = Math.round(totalmem() / 2 ** 30)
  const model = cpus()[0]?.model.trim()
  const machine = `${cpus().length} CPUs (${model}), ${memory} GiB`
  const kernel = `${platform()} ${release()} ${arch()}`
  const system = `${kernel}, Node.js ${process.version}, PostgreSQL ${postgres}`

  return (
    `${new Date().toISOString().slice(0, 10)}, commit ${commit}, ${title} of ${seconds} s. ` +
    `${machine}, ${system}. Server, database and load generator, ` +
    'wrk, share the machine.'
  )
}

function failures(results: Result[]): string {
  const lines = results.flatMap(({ work, samples }) =>
    [...samples].flatMap(([name, all]) => {
      const count = all.reduce((sum, sample) => sum + sample.failures, 0)

      return count > 0
        ? [
            `- ${servers[name].title}: ${count} requests failed in ` +
              `"${titleOf(work)}"`
          ]
        : []
    })
  )

  return lines.length > 0 ? lines.join('\n') : 'No request failed.'
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`

  return [
    line(head),
    line(head.map((_, index) => (index === 0 ? '---' : '---:'))),
    ...rows.map(line)
  ].join('\n')
}

function middle(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? NaN
}

const median = (
  samples: Result['samples'],
  name: ServerName,
  what: keyof Sample
) => medianOf(samples.get(name) ?? [], what)

const medianOf = (samples: Sample[], what: keyof Sample) =>
  middle(samples.map((sample) => sample[what]))

/** The rate, and the CPU per request of the server and the load generator. */
function rateAndCpu(samples: Sample[]): string {
  const of = (what: keyof Sample) => whole(medianOf(samples, what))
  return `${of('rate')} (${of('cpuPerRequest')} + ${of('generatorCpu')})`
}

/** Of the rounds in which both responded. */
function ratio(samples: Result['samples'], name: ServerName): string {
  const own = samples.get('service') ?? []
  const ratios = (samples.get(name) ?? []).map(
    ({ rate }, round) => (own[round]?.rate ?? NaN) / rate
  )

  return withRange(ratios)
}

/** The median of the finite values, and their range. */
function withRange(values: number[]): string {
  const finite = values.filter(Number.isFinite)
  if (finite.length === 0) return '–'
  const lowest = decimal(Math.min(...finite))
  const highest = decimal(Math.max(...finite))

  return `${decimal(middle(finite))} (${lowest}–${highest})`
}

/** A server without a single response has no value. */
const decimal = (value: number) =>
  Number.isFinite(value) ? value.toFixed(value < 10 ? 2 : 0) : '–'
const whole = (value: number) =>
  Number.isFinite(value) ? Math.round(value).toLocaleString('en') : '–'
const mib = (bytes: number) => whole(bytes / 2 ** 20)
