/** What clients request: lists, creates, or nine lists to one create. */
export type Kind = 'list' | 'create' | 'mixed'

/** One row of the tables. */
export interface Work {
  kind: Kind
  /** Categories in the table at the start. */
  rows: number
  connections: number
}

export interface Plan {
  title: string
  /** Each round measures the work on each server, one after the other. */
  rounds: number
  /** Seconds of each measurement. */
  seconds: number
  works: Work[]
  /** Rows of the very long list; 0 skips it. */
  bigList: number
}

const list = (rows: number, connections: number): Work => ({ kind: 'list', rows, connections })
const create = (connections: number): Work => ({ kind: 'create', rows: 100, connections })
const mixed = (connections: number): Work => ({ kind: 'mixed', rows: 100, connections })

export const plans: Record<'full' | 'quick', Plan> = {
  full: {
    title: 'full run',
    rounds: 5,
    seconds: 2,
    works: [
      ...[100, 1_000, 10_000].flatMap((rows) => [list(rows, 1), list(rows, 64)]),
      create(1),
      create(64),
      mixed(64)
    ],
    bigList: 1_000_000
  },
  quick: {
    title: 'quick run',
    rounds: 3,
    seconds: 0.7,
    works: [list(100, 1), list(100, 64), list(10_000, 64), create(64), mixed(64)],
    bigList: 0
  }
}

export function titleOf({ kind, rows, connections }: Work): string {
  const what = { list: `list, ${rows} rows`, create: 'create', mixed: '90 % list, 10 % create' }[kind]
  return `${what}, ${connections} ${connections === 1 ? 'connection' : 'connections'}`
}
