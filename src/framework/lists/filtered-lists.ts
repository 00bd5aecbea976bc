import { shareRuns } from '../batch.ts'
import type { Database } from '../postgres/database.ts'
import { CachedList } from './cached-list.ts'
import { ChangeCheck } from './change-check.ts'
import type { ListMemory } from './list-memory.ts'
import {
  type Condition,
  type ListedTable,
  PieceStatements,
  TableReader
} from './table-reader.ts'

/** Filters of one list: each combination of them needs its own statements. */
const maxFilters = 4

/** The values of query parameters. One that is absent filters nothing. */
type Values = Record<string, unknown>

/**
 * The lists of one operation, by the values of its filters. All of them share
 * the check for changes. Those that are neither kept nor requested take no
 * memory.
 */
export class FilteredLists {
  readonly #database: Database
  readonly #listMemory: ListMemory
  readonly #conditions: Condition[]
  readonly #changes: Pick<ChangeCheck, 'version'>
  readonly #listed: ListedTable
  /** By the names of the filters that a request has, joined. */
  readonly #statements = new Map<string, PieceStatements>()
  readonly #lists = new Map<string, CachedList>()

  /**
   * @throws Error if there are more than four conditions, or if PostgreSQL
   *   cannot tell the statements from others by their names
   */
  constructor(
    database: Database,
    listMemory: ListMemory,
    listed: ListedTable,
    conditions: Condition[]
  ) {
    this.#database = database
    this.#listMemory = listMemory
    this.#listed = listed
    this.#conditions = conditions
    // Requests for several lists share the check.
    const check = new ChangeCheck(database, listed.table)
    this.#changes = {
      version: shareRuns(() => check.version(), 'shared check for changes')
    }

    // A name that is taken fails now, at the start.
    for (const combination of combinationsOf(conditions, listed.table))
      this.#statementsOf(combination)
  }

  /** The list of the rows that the values select. */
  of(values: Values): CachedList {
    const conditions = this.#conditions.filter(
      ({ name }) => values[name] !== undefined
    )
    const selected = conditions.map(({ name }) => textOf(values[name]))
    const id = JSON.stringify([namesOf(conditions), selected])

    const existing = this.#lists.get(id)
    if (existing !== undefined) return existing

    const statements = this.#statementsOf(conditions)
    const reader = new TableReader(this.#database, statements, selected)
    const list = new CachedList(reader, this.#changes, this.#listMemory, () => {
      this.#lists.delete(id)
    })
    this.#lists.set(id, list)

    return list
  }

  #statementsOf(conditions: Condition[]): PieceStatements {
    const names = namesOf(conditions)
    const existing = this.#statements.get(names)
    if (existing !== undefined) return existing

    const newStatements = new PieceStatements(
      this.#database,
      this.#listed,
      conditions
    )
    this.#statements.set(names, newStatements)

    return newStatements
  }
}

/** Returns the conditions that a request may have, in their order. */
function combinationsOf(conditions: Condition[], table: string): Condition[][] {
  if (conditions.length > maxFilters)
    throw new Error(`a list of ${table} has more than ${maxFilters} filters`)

  return conditions.reduce<Condition[][]>(
    (combinations, condition) => [
      ...combinations,
      ...combinations.map((combination) => [...combination, condition])
    ],
    [[]]
  )
}

const namesOf = (conditions: Condition[]) =>
  conditions.map(({ name }) => name).join()

/** A value as PostgreSQL takes it: text, or an array of texts. */
function textOf(value: unknown): string | string[] {
  return Array.isArray(value) ? value.map(String) : String(value)
}
