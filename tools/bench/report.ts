import { execFileSync } from 'node:child_process'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { format } from 'prettier'

export interface Sample {
  /** Responses per second. */
  rate: number
  /** Microseconds of CPU of the server per request. */
  cpuPerRequest: number
}

/** One work, with the samples of each round by the title of the server. */
export interface Result {
  title: string
  samples: Map<string, Sample[]>
}

/** Rates of this service, divided by those of another: median and range. */
function ratioCell(samples: Sample[], own: Sample[]): string {
  const ratios = samples.map(
    ({ rate }, round) => Number(own[round]?.rate) / rate
  )
  const values = [middle(ratios), Math.min(...ratios), Math.max(...ratios)]
  const [median, low, high] = values.map((value) =>
    value.toFixed(value < 10 ? 2 : 0)
  )
  return `${median} (${low}–${high})`
}

function rateCell(samples: Sample[]): string {
  const medianOf = (what: keyof Sample) =>
    Math.round(middle(samples.map((one) => one[what]))).toLocaleString('en')
  return `${medianOf('rate')} (${medianOf('cpuPerRequest')})`
}

function middle(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? NaN
}

/** A table whose first column is text, and whose others are numbers. */
export function table(titles: string[], rows: string[][]): string {
  const line = ['---', ...titles.slice(1).map(() => '---:')]
  return [titles, line, ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
}

/**
 * The findings as Markdown. This service is the first of the servers.
 *
 * @param postgres its version
 */
export function report(
  results: Result[],
  rounds: number,
  postgres: string
): Promise<string> {
  const servers = [...(results[0]?.samples.keys() ?? [])]
  const ratios = servers.slice(1).map((server) => `÷ ${server}`)
  const rows = results.map(({ title, samples }) => {
    const [own = [], ...others] = samples.values()
    return [
      title,
      ...[own, ...others].map(rateCell),
      ...others.map((other) => ratioCell(other, own))
    ]
  })
  const text = `# Benchmark results

Written by \`npm run bench\`. [docs/performance.md](../../docs/performance.md) describes the baseline.

Requests per second, and in parentheses the microseconds of CPU of the server per request: medians of ${rounds} rounds of 1 s. The last column divides those of this service by the others': the median of the rounds, and their range.

${conditions(postgres)}

${table(['work', ...servers, ...ratios], rows)}
`

  return format(text, { parser: 'markdown' })
}

/** When, what and on which machine the benchmark has measured. */
export function conditions(postgres: string): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'])
  const machine = [
    `${cpus().length} CPUs (${cpus()[0]?.model.trim()})`,
    `${Math.round(totalmem() / 2 ** 30)} GiB`,
    `${platform()} ${release()} ${arch()}`,
    `Node.js ${process.version}`,
    `PostgreSQL ${postgres}`
  ]
  const today = new Date().toISOString().slice(0, 10)

  return `${today}, commit ${commit.toString().trim()}. ${machine.join(', ')}. Server, database and load generator, wrk, share the machine.`
}
