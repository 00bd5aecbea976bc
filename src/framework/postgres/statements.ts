import type { Metrics } from '../metrics.ts'

/** Bytes of a name that PostgreSQL compares. */
const maxNameBytes = 63

/** A prepared statement, whose name belongs to no other text. */
export interface NamedStatement {
  name: string
  text: string
}

/** A statement from `Statements.add`, with its values. */
type NamedQuery = NamedStatement & { values?: unknown[] }

/** A statement that PostgreSQL plans each time. */
interface UnnamedQuery {
  name?: undefined
  text: string
  values?: unknown[]
}

export type Query = NamedQuery | UnnamedQuery

/** The prepared statements of a database. */
export class Statements {
  readonly #metrics: Metrics
  readonly #texts = new Map<string, string>()

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** The text of each statement by its name, in the order of `add`. */
  get texts(): ReadonlyMap<string, string> {
    return this.#texts
  }

  /**
   * Gives a name to a statement. PostgreSQL would reject another text with the
   * name, but only at the first request that runs it.
   *
   * @example
   * const pets = database.statements.add('pets', 'SELECT * FROM pets LIMIT $1')
   * await database.read({ ...pets, values: [20] })
   *
   * @throws Error if the name belongs to another text, or is too long
   */
  add(name: string, text: string): NamedStatement {
    if (Buffer.byteLength(name) > maxNameBytes) {
      throw new Error(
        `the name of a statement has over ${maxNameBytes} bytes: ${name}`
      )
    }

    if ((this.#texts.get(name) ?? text) !== text) {
      throw new Error(
        `two operations have different statements called ${name}: ` +
          'give one of them another name, as in name: …'
      )
    }

    if (!this.#texts.has(name)) this.#metrics.initializeStatement(name)
    this.#texts.set(name, text)

    return { name, text }
  }
}
