import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { ChangeCheck } from './change-check.ts'
import { CachedBody } from './encodings.ts'
import type { ListStart } from './stream.ts'
import type { TableReader } from './table-reader.ts'

interface WholeList {
  body: CachedBody
  lastId: null
}

/**
 * A list that stays fresh and fast. Requests that wait at the same time share
 * one query, which checks whether the table has changed since it was read. A
 * request never joins a query that has started, so its response has everything
 * that was committed before the request arrived.
 */
export class CachedList {
  readonly #reader: TableReader
  readonly #changes: ChangeCheck
  readonly #maxSize: number
  readonly #shared: (_request: undefined) => Promise<WholeList | ListStart>
  #list: WholeList | ListStart | undefined

  /** @param maxSize bytes; of a longer list only the start is kept */
  constructor(reader: TableReader, changes: ChangeCheck, maxSize: number) {
    this.#reader = reader
    this.#changes = changes
    this.#maxSize = maxSize
    this.#shared = batch(async (requests: undefined[]) => {
      sharedReads.observe(requests.length)
      const list = await this.#readIfChanged()
      return requests.map(() => list)
    })
  }

  /** The list as it is now, or its start if it is too long to be kept. */
  current(): Promise<WholeList | ListStart> {
    return this.#shared(undefined)
  }

  async #readIfChanged(): Promise<WholeList | ListStart> {
    const hasChanged = await this.#changes.hasChanged()
    if (this.#list !== undefined && !hasChanged) return this.#list

    // Frees the memory of the old list before reading the new one.
    this.#list = undefined
    const list = await this.#read()
    this.#list = list
    return list
  }

  async #read(): Promise<WholeList | ListStart> {
    const chunks: Buffer[] = []
    let size = 0
    let lastId: string | null = null
    do {
      const page = await this.#reader.readPage(lastId)
      chunks.push(page.bytes)
      size += page.bytes.length
      lastId = page.lastId
    } while (lastId !== null && size < this.#maxSize)

    if (lastId === null) return { body: new CachedBody(chunks), lastId }
    return { chunks, size, lastId }
  }
}
