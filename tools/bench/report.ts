import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { arch, cpus, platform, release, totalmem } from 'node:os'
import { format, resolveConfig } from 'prettier'
import type { BigList } from './big.ts'
import { barChart } from './chart.ts'
import type { Latency } from './load.ts'
import { type Plan, titleOf, type Work } from './plan.ts'
import { type ServerName, servers } from './servers.ts'

export interface Sample {
  /** Answers a second. */
  rate: number
  /** Requests that were refused or not answered. */
  failures: number
  /** Microseconds of CPU that the server used for a request. */
  cpuPerRequest: number
  /** Bytes of memory that the server had at the end. */
  rss: number
}

export interface Results {
  works: { work: Work; samples: Map<ServerName, Sample[]> }[]
  latencies: ({ work: Pick<Work, 'kind' | 'rows' | 'connections'>; name: ServerName; rate: number } & Latency)[]
  /** Transactions a second by number of connections; empty without a pgbench. */
  pgbench: Map<number, number>
  bigList: BigList | undefined
}

type Result = Results['works'][number]

const shown: ServerName[] = ['service', 'ceiling', 'plain', 'express']
const peers: ServerName[] = ['ceiling', 'plain', 'express']

const file = new URL('../../../docs/performance.md', import.meta.url)
const markers = ['<!-- measured: written by npm run bench -->', '<!-- end of what is measured -->'] as const

/** The tables, as Markdown. */
export function report({ title, rounds, seconds }: Plan, results: Results, postgres: string): string {
  const memory = Math.round(totalmem() / 2 ** 30)
  const failures = results.works.flatMap(({ work, samples }) =>
    [...samples].flatMap(([name, all]) => {
      const count = all.reduce((sum, sample) => sum + sample.failures, 0)
      return count > 0 ? [`- ${servers[name].title}: ${count} requests failed in "${titleOf(work)}"`] : []
    })
  )
  return (
    [
      `${new Date().toISOString().slice(0, 10)}, ${title}: ${rounds} rounds of ${seconds} s, medians. ${cpus().length} CPUs (${cpus()[0]?.model.trim()}), ${memory} GiB, ${platform()} ${release()} ${arch()}, Node.js ${process.version}, PostgreSQL ${postgres}; server, database and load on the same machine.`,
      ...(failures.length > 0 ? [failures.join('\n')] : ['Every request was answered with a success.']),
      '### Ratios',
      'Throughput of this service over that of the others; the median of the ratios of each round.',
      table(
        ['work', ...peers.map((name) => `÷ ${servers[name].title}`)],
        results.works.map(({ work, samples }) => [titleOf(work), ...peers.map((name) => times(ratio(samples, name)))])
      ),
      '![Throughput](performance/throughput.svg)',
      '### Requests a second',
      table(
        ['work', ...shown.map((name) => servers[name].title)],
        results.works.map(({ work, samples }) => [
          titleOf(work),
          ...shown.map((name) => whole(median(samples, name, 'rate')))
        ])
      ),
      pgbenchLine(results),
      '### CPU and memory of the server',
      'Microseconds of CPU for a request, and MiB resident at the end.',
      table(
        ['work', ...shown.map((name) => servers[name].title)],
        results.works.map(({ work, samples }) => [
          titleOf(work),
          ...shown.map(
            (name) =>
              `${whole(median(samples, name, 'cpuPerRequest'))} µs, ${whole(median(samples, name, 'rss') / 2 ** 20)} MiB`
          )
        ])
      ),
      '![CPU for a list request](performance/cost.svg)',
      '### One request at a time',
      'Milliseconds from one answer to the next, on one connection to an idle server.',
      table(
        ['work', ...shown.map((name) => servers[name].title), 'this service ÷ plain way'],
        results.works
          .filter(({ work }) => work.connections === 1)
          .map(({ work, samples }) => [
            titleOf(work),
            ...shown.map((name) => (1000 / median(samples, name, 'rate')).toFixed(2)),
            times(1 / ratio(samples, 'plain'))
          ])
      ),
      ...(results.latencies.length === 0
        ? []
        : [
            '### Latency at half of the top rate',
            'Each server at half of the rate that it reached itself; milliseconds from when a request was due until its answer was read.',
            table(
              ['work', 'server', 'requests a second', 'p50', 'p99'],
              results.latencies.map(({ work, name, rate, p50, p99 }) => [
                titleOf(work),
                servers[name].title,
                whole(rate),
                p50.toFixed(1),
                p99.toFixed(1)
              ])
            )
          ]),
      ...(results.bigList === undefined ? [] : ['### A very long list', bigListLine(results.bigList)]),
      '### The cost of the log',
      logLine(results)
    ].join('\n\n') + '\n'
  )
}

/** Writes the tables and charts into docs/performance.md. */
export async function writeReport(tables: string, results: Results): Promise<void> {
  const [before = '', rest = ''] = readFileSync(file, 'utf8').split(markers[0])
  const after = rest.split(markers[1])[1] ?? ''
  const text = [before, markers[0], '\n\n', tables, '\n', markers[1], after].join('')
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), parser: 'markdown' }))
  const charts = new URL('performance/', file)
  mkdirSync(charts, { recursive: true })
  writeFileSync(new URL('throughput.svg', charts), throughputChart(results))
  writeFileSync(new URL('cost.svg', charts), costChart(results))
}

function pgbenchLine({ pgbench }: Results): string {
  if (pgbench.size === 0)
    return 'One INSERT a transaction by pgbench, the ceiling of a database that is asked once for each create: not measured, as this machine has no pgbench.'
  const rates = [...pgbench].map(
    ([connections, rate]) => `${whole(rate)}/s on ${connections} ${connections === 1 ? 'connection' : 'connections'}`
  )
  return `One INSERT a transaction by pgbench, the ceiling of a database that is asked once for each create: ${rates.join(', ')}.`
}

function bigListLine({ rows, clients, slowClients, size, seconds, rss, longestStall }: BigList): string {
  const mib = (bytes: number) => whole(bytes / 2 ** 20)
  return `${whole(rows)} categories (${mib(size)} MiB of JSON), ${clients} clients at once, ${slowClients} of them slow: the ${clients - slowClients} others had the whole list after ${seconds.toFixed(1)} s. Resident: ${mib(rss.before)} MiB before, ${mib(rss.peak)} MiB at most, ${mib(rss.after)} MiB after all had left. Longest stall of the event loop: ${whole(longestStall)} ms.`
}

function logLine({ works }: Results): string {
  const { work, samples } = works.find(({ samples }) => samples.has('unlogged')) as Result
  const [cost, without] = [median(samples, 'service', 'cpuPerRequest'), median(samples, 'unlogged', 'cpuPerRequest')]
  return `${titleOf(work)}: ${cost.toFixed(1)} µs of CPU for a request with its line in the log, ${without.toFixed(1)} µs without.`
}

function throughputChart({ works }: Results): string {
  const wanted = works.filter(
    ({ work: { connections, rows } }) => connections === 64 && (rows === 100 || rows === 10_000)
  )
  return chart('Requests a second, 64 connections', wanted, 'rate', '/s')
}

function costChart({ works }: Results): string {
  const wanted = works.filter(({ work: { kind, rows } }) => kind === 'list' && rows === 100)
  return chart('Microseconds of CPU for a list of 100 categories', wanted, 'cpuPerRequest', ' µs')
}

/** The medians of one thing that was measured, in a group of bars for each work. */
function chart(title: string, results: Result[], what: keyof Sample, unit: string): string {
  const barsOf = ({ samples }: Result) =>
    shown
      .filter((name) => samples.has(name))
      .map((name) => {
        const value = median(samples, name, what)
        return { label: servers[name].title, value, text: whole(value) + unit, colour: shown.indexOf(name) }
      })
  return barChart(
    title,
    results.map((result) => ({ title: titleOf(result.work), bars: barsOf(result) }))
  )
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

const middle = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? NaN

const median = (samples: Result['samples'], name: ServerName, what: keyof Sample) =>
  middle((samples.get(name) ?? []).map((sample) => sample[what]))

/** How often the throughput of this service holds that of another, measured in the same round. */
const ratio = (samples: Result['samples'], name: ServerName) =>
  middle((samples.get(name) ?? []).map(({ rate }, round) => (samples.get('service')?.[round]?.rate ?? NaN) / rate))

/** A server may not have answered once in the time. */
const unlessNone = (value: number, text: string) => (Number.isFinite(value) ? text : '–')
const times = (value: number) => unlessNone(value, value < 10 ? value.toFixed(2) : value.toFixed(0))
const whole = (value: number) => unlessNone(value, Math.round(value).toLocaleString('en'))
