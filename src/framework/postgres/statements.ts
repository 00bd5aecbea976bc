import type { Metrics } from '../metrics.ts'

/** A prepared statement, whose name belongs to no other text. */
export interface NamedStatement {
  name: string
  text: string
}

/** A statement: without a name, PostgreSQL plans it each time. */
export interface Query {
  name?: string
  text: string
  values?: unknown[]
}

/** The prepared statements of a database. */
export class Statements {
  readonly #metrics: Metrics

  /** The text of each statement by its name, in the order of `add`. */
  readonly texts = new Map<string, string>()

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /**
   * Gives a name to a statement. PostgreSQL would reject another text with the
   * name, but only at the first request that runs it.
   *
   * @example
   * const pets = database.statements.add('pets', 'SELECT * FROM pets LIMIT $1')
   * await database.read({ ...pets, values: [20] })
   *
   * @throws Error if the name belongs to another text
   */
  add(name: string, text: string): NamedStatement {
    const known = this.texts.get(name)
    if (known === undefined) {
      this.#metrics.initializeStatement(name)
    } else if (known !== text) {
      throw new Error(
        `two different statements are called ${name}: ` +
          'change the name, operationId or table of one'
      )
    }
    this.texts.set(name, text)

    return { name, text }
  }
}
