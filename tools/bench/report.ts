import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { format, resolveConfig } from 'prettier'
import type { loadByWrk } from './wrk.ts'

export type Sample = Awaited<ReturnType<typeof loadByWrk>> & {
  /** Microseconds of CPU of the server per request. */
  cpuPerRequest: number
}

/** One work, with the samples of each round by the title of the server. */
export interface Result {
  title: string
  samples: Map<string, Sample[]>
}

/** What a benchmark found. */
export interface Findings {
  /** The title of the plan. */
  plan: string
  results: Result[]
  /** Which servers were not measured, and why. */
  missing: string[]
  /** The version of PostgreSQL. */
  postgres: string
}

/** A cell of a table, from the samples of its server and of this service. */
type Cell = (samples: Sample[], own: Sample[]) => string

const ratioCell: Cell = (samples, own) => {
  const ratios = samples
    .map(({ rate }, round) => (own[round]?.rate ?? NaN) / rate)
    .filter(Number.isFinite)
  if (ratios.length === 0) return '–'
  const range = [Math.min(...ratios), Math.max(...ratios)].map(decimal)
  return `${decimal(middle(ratios))} (${range.join('–')})`
}

const rateCell: Cell = (samples) => {
  const of = (what: keyof Sample) => whole(median(samples, what))
  return `${of('rate')} (${of('cpuPerRequest')} + ${of('generatorCpu')})`
}

const latencyCell: Cell = (samples) =>
  `${decimal(median(samples, 'p50'))}, ${decimal(median(samples, 'p99'))}`

const sections: { title: string; text: string; cell: Cell }[] = [
  {
    title: 'Ratios',
    text: `Requests per second of this service, divided by those of the others:
the median of the rounds, and their range.`,
    cell: ratioCell
  },
  {
    title: 'Requests per second',
    text: `In parentheses: microseconds of CPU per request, of the server and of
the load generator, wrk. Where the second is the larger one, the load generator
is the limit.`,
    cell: rateCell
  },
  {
    title: 'Milliseconds per request',
    text: `Median and 99th percentile, while each connection sends as fast as it
gets responses.`,
    cell: latencyCell
  }
]

/** A table with a row for each work, and a column for each server. */
function table(results: Result[], cell: Cell): string {
  const [service = '', ...peers] = results[0]?.samples.keys() ?? []
  const isRatio = cell === ratioCell
  const names = isRatio ? peers : [service, ...peers]
  const rows = results.map(({ title, samples }) => {
    const own = samples.get(service) ?? []
    const cells = names.map((name) => {
      const all = samples.get(name)
      return all ? cell(all, own) : '–'
    })
    return [title, ...cells]
  })
  const titles = names.map((name) => (isRatio ? `÷ ${name}` : name))
  const line = ['---', ...names.map(() => '---:')]

  return [['work', ...titles], line, ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/** The findings as Markdown. */
export function report({ plan, results, missing, postgres }: Findings): string {
  return [
    '# Benchmark results',
    'Written by `npm run bench`. [docs/performance.md](../../docs/performance.md) describes the servers.',
    conditions(plan, postgres),
    [...missing, failures(results)].join('\n'),
    ...sections.flatMap(({ title, text, cell }) => [
      `## ${title}`,
      text,
      table(results, cell)
    ])
  ].join('\n\n')
}

/** Writes RESULTS.md. */
export async function writeReport(text: string): Promise<void> {
  const file = 'tools/bench/RESULTS.md'
  writeFileSync(
    file,
    await format(text, { ...(await resolveConfig(file)), parser: 'markdown' })
  )
}

function conditions(plan: string, postgres: string): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
    encoding: 'utf8'
  }).trim()
  const memory = Math.round(totalmem() / 2 ** 30)
  const machine = `${cpus().length} CPUs (${cpus()[0]?.model.trim()}), ${memory} GiB`
  const kernel = `${platform()} ${release()} ${arch()}`
  const system = `${kernel}, Node.js ${process.version}, PostgreSQL ${postgres}`
  const today = new Date().toISOString().slice(0, 10)

  return (
    `${today}, commit ${commit}, ${plan} of 1 s. ${machine}, ${system}. ` +
    'Server, database and load generator, wrk, share the machine.'
  )
}

function failures(results: Result[]): string {
  const lines: string[] = []
  for (const { title, samples } of results) {
    for (const [name, all] of samples) {
      const count = all.reduce((sum, sample) => sum + sample.failures, 0)
      if (count > 0)
        lines.push(`- ${name}: ${count} requests failed in "${title}"`)
    }
  }

  return lines.join('\n') || 'No request failed.'
}

function middle(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? NaN
}

const median = (samples: Sample[], what: keyof Sample) =>
  middle(samples.map((sample) => sample[what]))

/** A server without a single response has no value. */
const decimal = (value: number) =>
  Number.isFinite(value) ? value.toFixed(value < 10 ? 2 : 0) : '–'
const whole = (value: number) =>
  Number.isFinite(value) ? Math.round(value).toLocaleString('en') : '–'
