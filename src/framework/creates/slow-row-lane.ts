import type { FairQueue } from './fair-queue.ts'

/** Writes slow rows: each alone, without the group timeout. */
export class SlowRowLane<Row, Result> {
  readonly #commit: (rows: Row[]) => Promise<Result[]>
  readonly #turns: FairQueue

  constructor(commit: (rows: Row[]) => Promise<Result[]>, turns: FairQueue) {
    this.#commit = commit
    this.#turns = turns
  }

  /** Whether a slow row of the client waits or is written, in any table. */
  has(client: string): boolean {
    return this.#turns.has(client)
  }

  /**
   * Writes one row.
   *
   * @throws what the writer throws, and Overloaded if too many rows wait, or
   *   this one for too long
   */
  submit(row: Row, client: string): Promise<Result> {
    return this.#turns.run(client, () => this.#commitAlone(row))
  }

  async #commitAlone(row: Row): Promise<Result> {
    const [result] = await this.#commit([row])
    if (result === undefined) throw new Error('a row had no result')
    return result
  }
}
