import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { ChangeCheck } from './change-check.ts'
import { CachedBody } from './encodings.ts'
import type { KeptLists } from './kept-lists.ts'
import type { ListStart } from './stream.ts'
import type { Page, TableReader } from './table-reader.ts'

interface WholeList {
  body: CachedBody
  lastKey: null
}

/** Pages of a list, from its first one on. */
interface Pages {
  chunks: Buffer[]
  /** Bytes. */
  size: number
  /** The key of the last item; null: the list is complete. */
  lastKey: string | null
}

/**
 * - whole: the list is complete.
 * - too long: it exceeds the memory for kept lists.
 * - no memory: other lists that are being read take it.
 */
type End = 'whole' | 'too long' | 'no memory'

/**
 * A list that stays fresh and fast. Requests that wait at the same time share
 * one query, which checks whether the table has changed since it was read. A
 * request never joins a query that has started, so its response has everything
 * that was committed before the request arrived.
 */
export class CachedList {
  readonly #reader: Pick<TableReader, 'readPage'>
  readonly #changes: Pick<ChangeCheck, 'version'>
  readonly #memory: KeptLists
  readonly #onForgotten: () => void
  readonly #shared: (_request: undefined) => Promise<WholeList | ListStart>
  #list: WholeList | ListStart | undefined
  /** The version of the table when `#list` was read. */
  #version = 0

  /**
   * @param memory counts the list while it is kept
   * @param onForgotten called when the list is not kept, or no longer
   */
  constructor(
    reader: Pick<TableReader, 'readPage'>,
    changes: Pick<ChangeCheck, 'version'>,
    memory: KeptLists,
    onForgotten: () => void
  ) {
    this.#reader = reader
    this.#changes = changes
    this.#memory = memory
    this.#onForgotten = onForgotten
    this.#shared = batch((requests: undefined[]) => this.#run(requests))
  }

  /** The list as it is now, or its start if it is too long to be kept. */
  current(): Promise<WholeList | ListStart> {
    return this.#shared(undefined)
  }

  /** Frees the memory of the list. It is read again when it is requested. */
  forget(): void {
    this.#list = undefined
    this.#onForgotten()
  }

  async #run(requests: undefined[]): Promise<(WholeList | ListStart)[]> {
    sharedReads.observe(requests.length)
    try {
      const list = await this.#readIfChanged()
      return requests.map(() => list)
    } finally {
      if (this.#list === undefined) this.#onForgotten()
    }
  }

  async #readIfChanged(): Promise<WholeList | ListStart> {
    const version = await this.#changes.version()
    if (this.#list !== undefined && version === this.#version) {
      this.#memory.use(this)
      return this.#list
    }

    // Frees the memory of the old list before reading the new one.
    this.#list = undefined
    this.#memory.remove(this)

    this.#version = version
    return this.#read()
  }

  async #read(): Promise<WholeList | ListStart> {
    const { pages, end } = await this.#readPages()
    const { maxStartSize } = this.#memory
    switch (end) {
      case 'whole':
        return this.#keep(joined(pages))
      case 'too long':
        return this.#keep(joined(pages, maxStartSize))
      case 'no memory':
        return this.#listOf(joined(pages, maxStartSize))
    }
  }

  async #readPages(): Promise<{ pages: Page[]; end: End }> {
    const { maxListSize } = this.#memory
    const pages: Page[] = []
    let lastKey: string | null = null
    let size = 0
    let hasMemory: boolean

    try {
      do {
        const page = await this.#reader.readPage(lastKey)
        pages.push(page)
        lastKey = page.lastKey
        size += page.bytes.length
        hasMemory = this.#memory.addRead(page.bytes.length)
      } while (lastKey !== null && size <= maxListSize && hasMemory)
    } finally {
      this.#memory.endRead(size)
    }

    if (size > maxListSize) return { pages, end: 'too long' }
    return { pages, end: lastKey === null ? 'whole' : 'no memory' }
  }

  /** The list of these pages, kept if there is memory for it. */
  #keep(pages: Pages): WholeList | ListStart {
    const list = this.#listOf(pages)
    if (this.#memory.keep(this, pages.size)) this.#list = list
    return list
  }

  #listOf({ chunks, size, lastKey }: Pages): WholeList | ListStart {
    if (lastKey !== null) return { chunks, size, lastKey }

    const mayKeep = (encodedSize: number) =>
      this.#list === list && this.#memory.grow(this, encodedSize)
    const list: WholeList = { body: new CachedBody(chunks, mayKeep), lastKey }
    return list
  }
}

/**
 * Joins pages.
 *
 * @param enough bytes at which to leave out the rest
 */
function joined(pages: Page[], enough = Infinity): Pages {
  const all: Pages = { chunks: [], size: 0, lastKey: null }
  for (const { bytes, lastKey } of pages) {
    all.chunks.push(bytes)
    all.size += bytes.length
    all.lastKey = lastKey
    if (all.size >= enough) break
  }
  return all
}
