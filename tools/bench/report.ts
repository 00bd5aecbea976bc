import { execFileSync } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { format } from 'prettier'

export interface Sample {
  /** Responses per second. */
  rate: number
  /** Microseconds of CPU of the server per request. */
  cpuPerRequest: number
}

/** One work, with the samples of each round. */
export interface Result {
  title: string
  service: Sample[]
  baseline: Sample[]
}

/** Rates of this service, by those of the baseline: median and range. */
function ratioCell({ service, baseline }: Result): string {
  const ratios = baseline.map(
    ({ rate }, round) => Number(service[round]?.rate) / rate
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

/**
 * The findings as Markdown.
 *
 * @param postgres its version
 */
export function report(
  results: Result[],
  rounds: number,
  postgres: string
): Promise<string> {
  const rows = results.map((result) => {
    const { title, service, baseline } = result
    return `| ${title} | ${rateCell(service)} | ${rateCell(baseline)} | ${ratioCell(result)} |`
  })
  const text = `# Benchmark results

Written by \`npm run bench\`. [docs/performance.md](../../docs/performance.md) describes the baseline.

Requests per second, and in parentheses the microseconds of CPU of the server per request: medians of ${rounds} rounds of 1 s. The last column divides those of this service by the baseline's: the median of the rounds, and their range.

${conditions(postgres)}

| work | this service | baseline | ÷ baseline |
| --- | ---: | ---: | ---: |
${rows.join('\n')}
`

  return format(text, { parser: 'markdown' })
}

/** When, what and on which machine the benchmark has measured. */
function conditions(postgres: string): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'])
  const machine = [
    `${cpus().length} CPUs (${cpus()[0]?.model.trim()})`,
    `${Math.round(totalmem() / 2 ** 30)} GiB`,
    `Node.js ${process.version}`,
    `PostgreSQL ${postgres}`
  ]
  const today = new Date().toISOString().slice(0, 10)

  return `${today}, commit ${commit.toString().trim()}. ${machine.join(', ')}. Server, database and load generator, wrk, share the machine.`
}
