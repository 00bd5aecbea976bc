import type { Kind } from './load.ts'
import type { ServerName } from './servers.ts'

/** One row of the tables. */
export interface Work {
  kind: Kind
  /** Categories in the table when it begins. */
  rows: number
  connections: number
  servers: ServerName[]
}

export interface Plan {
  title: string
  /** Times that each work is measured on each server, one server after the other. */
  rounds: number
  /** Seconds of each measurement. */
  seconds: number
  works: Work[]
  /** Measured at half of the rate that each server reached. */
  latencies: Pick<Work, 'kind' | 'rows' | 'connections'>[]
  /** Rows of the very long list; 0 leaves it out. */
  bigList: number
}

const all: ServerName[] = ['service', 'ceiling', 'plain', 'express']
const list = (rows: number, connections: number): Work => ({ kind: 'list', rows, connections, servers: all })
const create = (connections: number): Work => ({ kind: 'create', rows: 100, connections, servers: all })
const mixed = (connections: number): Work => ({ kind: 'mixed', rows: 100, connections, servers: all })

/** The work by which the cost of the log is measured too. */
const logged: Work = { ...list(100, 64), servers: [...all, 'unlogged'] }

const latencies = [logged, create(64), mixed(64)]

export const plans: Record<'full' | 'quick', Plan> = {
  full: {
    title: 'full run',
    rounds: 3,
    seconds: 3,
    works: [
      ...[10, 100, 1_000, 10_000].flatMap((rows) =>
        [1, 64, 512].map((connections) => (rows === 100 && connections === 64 ? logged : list(rows, connections)))
      ),
      ...[1, 64, 512].map(create),
      ...[1, 64, 512].map(mixed)
    ],
    latencies,
    bigList: 1_000_000
  },
  quick: {
    title: 'quick run',
    rounds: 3,
    seconds: 0.7,
    works: [list(100, 1), logged, list(10_000, 64), create(1), create(64), mixed(64)],
    latencies: [],
    bigList: 0
  }
}

export const titleOf = ({ kind, rows, connections }: Pick<Work, 'kind' | 'rows' | 'connections'>): string => {
  const what = { list: `list, ${rows} rows`, create: 'create', mixed: '90 % list, 10 % create' }[kind]
  return `${what}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`
}
