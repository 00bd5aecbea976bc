import { batch } from '../batch.ts'
import { sharedReads } from '../metrics.ts'
import type { ChangeCheck } from './change-check.ts'
import { CachedBody } from './encodings.ts'
import type { KeptLists } from './kept-lists.ts'
import { type ListStart, PageStream } from './stream.ts'
import type { Page, TableReader } from './table-reader.ts'

interface WholeList {
  body: CachedBody
  lastKey: null
}

/**
 * A list that is kept, together with the version of the table that was checked
 * before it was read. The check reports each change once. If the read after it
 * fails, only this version shows that the list is old.
 */
interface Kept {
  list: WholeList | ListStart
  version: number
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
  /** Reads the rest of a list that is too long to be kept. */
  readonly pages: PageStream
  readonly #reader: Pick<TableReader, 'readPage'>
  readonly #changes: Pick<ChangeCheck, 'version'>
  readonly #memory: KeptLists
  readonly #onUnused: () => void
  readonly #shared: (_request: undefined) => Promise<WholeList | ListStart>
  #kept: Kept | undefined
  /** Number of requests that wait for the list. */
  #waiting = 0

  /**
   * @param changes its calls must not overlap with those of other lists
   * @param memory counts the list while it is kept
   * @param onUnused called when nothing is kept and no request waits
   */
  constructor(
    reader: Pick<TableReader, 'readPage'>,
    changes: Pick<ChangeCheck, 'version'>,
    memory: KeptLists,
    onUnused: () => void = () => {}
  ) {
    this.pages = new PageStream(reader)
    this.#reader = reader
    this.#changes = changes
    this.#memory = memory
    this.#onUnused = onUnused
    this.#shared = batch((requests: undefined[]) => this.#run(requests))
  }

  /** The list as it is now, or its start if it is too long to be kept. */
  async current(): Promise<WholeList | ListStart> {
    this.#waiting++
    try {
      return await this.#shared(undefined)
    } finally {
      this.#waiting--
      this.#reportIfUnused()
    }
  }

  /** Frees the memory of the list. It is read again when it is requested. */
  forget(): void {
    this.#kept = undefined
    this.#reportIfUnused()
  }

  /**
   * A list that is waited for stays in use: what it reads is kept, and requests
   * must not find another copy meanwhile.
   */
  #reportIfUnused(): void {
    if (this.#kept === undefined && this.#waiting === 0) this.#onUnused()
  }

  async #run(requests: undefined[]): Promise<(WholeList | ListStart)[]> {
    sharedReads.observe(requests.length)
    const version = await this.#changes.version()
    const list = this.#keptOf(version) ?? (await this.#read(version))

    return requests.map(() => list)
  }

  /** The kept list, if it is of this version of the table. */
  #keptOf(version: number): WholeList | ListStart | undefined {
    if (this.#kept?.version !== version) return undefined

    this.#memory.use(this)
    return this.#kept.list
  }

  async #read(version: number): Promise<WholeList | ListStart> {
    // Frees the memory of the old list before reading the new one.
    this.#kept = undefined
    this.#memory.remove(this)

    const { pages, end } = await this.#readPages()
    const { maxStartSize } = this.#memory
    switch (end) {
      case 'whole':
        return this.#keep(joined(pages), version)
      case 'too long':
        return this.#keep(joined(pages, maxStartSize), version)
      case 'no memory':
        return this.#listOf(joined(pages, maxStartSize))
    }
  }

  /** Reads until the end of the list, or that of the memory. */
  async #readPages(): Promise<{ pages: Page[]; end: End }> {
    const { maxListSize } = this.#memory
    const pages: Page[] = []
    let size = 0

    try {
      for await (const page of this.#allPages()) {
        pages.push(page)
        size += page.bytes.length
        const hasMemory = this.#memory.addRead(page.bytes.length)

        if (size > maxListSize) return { pages, end: 'too long' }
        if (!hasMemory && page.lastKey !== null)
          return { pages, end: 'no memory' }
      }
      return { pages, end: 'whole' }
    } finally {
      this.#memory.endRead(size)
    }
  }

  async *#allPages() {
    let lastKey: string | null = null
    do {
      const page: Page = await this.#reader.readPage(lastKey)
      yield page
      lastKey = page.lastKey
    } while (lastKey !== null)
  }

  /** The list of these pages, kept if there is memory for it. */
  #keep(pages: Pages, version: number): WholeList | ListStart {
    const list = this.#listOf(pages)
    if (this.#memory.keep(this, pages.size)) this.#kept = { list, version }
    return list
  }

  #listOf({ chunks, size, lastKey }: Pages): WholeList | ListStart {
    if (lastKey !== null) return { chunks, size, lastKey }

    const body = new CachedBody(chunks, (encodedSize, ofBody) =>
      this.#mayGrow(encodedSize, ofBody)
    )
    return { body, lastKey }
  }

  /** Whether a body is still the kept one, and may take so many more bytes. */
  #mayGrow(size: number, body: CachedBody): boolean {
    const list = this.#kept?.list
    const isKept = list?.lastKey === null && list.body === body

    return isKept && this.#memory.grow(this, size)
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
