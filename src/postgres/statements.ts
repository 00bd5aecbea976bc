import { initializeStatement } from '../metrics.ts'

/** Bytes of a name that PostgreSQL compares. */
const maxNameLength = 63

/** The prepared statements of a database. */
export class Statements {
  readonly #texts = new Map<string, string>()

  /** The text of each statement by its name, in the order of `add`. */
  get texts(): ReadonlyMap<string, string> {
    return this.#texts
  }

  /**
   * Gives a name to a statement. PostgreSQL would reject another text with the
   * name, but only at the first request that runs it.
   *
   * @throws Error if the name belongs to another text, or is too long
   */
  add(name: string, text: string): void {
    if (name.length > maxNameLength)
      throw new Error(`the name of a statement has over 63 characters: ${name}`)

    if ((this.#texts.get(name) ?? text) !== text) {
      throw new Error(
        `two operations have different statements called ${name}: ` +
          'give one of them another name, as in name: …'
      )
    }

    if (!this.#texts.has(name)) initializeStatement(name)
    this.#texts.set(name, text)
  }
}
