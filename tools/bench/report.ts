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

/** A cell of a table, from the samples of its server and of this service. */
type Cell = (samples: Sample[], own: Sample[]) => string

const ratioCell: Cell = (samples, own) => {
  const ratios = samples.map(
    ({ rate }, round) => Number(own[round]?.rate) / rate
  )
  const values = [middle(ratios), Math.min(...ratios), Math.max(...ratios)]
  const [median, low, high] = values.map((value) =>
    value.toFixed(value < 10 ? 2 : 0)
  )
  return `${median} (${low}–${high})`
}

const rateCell: Cell = (samples) => {
  const medianOf = (what: keyof Sample) =>
    Math.round(middle(samples.map((one) => one[what]))).toLocaleString('en')
  return `${medianOf('rate')} (${medianOf('cpuPerRequest')})`
}

function middle(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? NaN
}

/** A table with a row for each work, and a column for each server. */
function table(results: Result[], servers: string[], cell: Cell): string {
  const rows = results.map(({ title, samples }) => {
    const [own = []] = samples.values()
    const cells = servers.map((name) => {
      const all = samples.get(name)
      return all ? cell(all, own) : '–'
    })
    return [title, ...cells]
  })
  const line = ['---', ...servers.map(() => '---:')]

  return [['work', ...servers], line, ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')
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
  const servers = [...(results[0]?.samples.keys() ?? [])]
  const text = `# Benchmark results

Written by \`npm run bench\`. [docs/performance.md](../../docs/performance.md) describes the servers.

Medians of ${rounds} rounds of 1 s. ${conditions(postgres)}

## Ratios

Requests per second of this service, divided by those of the others:
the median of the rounds, and their range.

${table(results, servers.slice(1), ratioCell)}

## Requests per second

In parentheses: microseconds of CPU of the server per request.

${table(results, servers, rateCell)}
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
