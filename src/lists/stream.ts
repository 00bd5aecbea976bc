import { setImmediate } from 'node:timers/promises'
import { batch } from '../batch.ts'
import type { Page, TableReader } from './table-reader.ts'

/** The start of a list that is too long to be held. */
export interface ListStart {
  chunks: Buffer[]
  /** Bytes. */
  size: number
  /** The id of the last item in `chunks`. */
  next: string
}

/**
 * The chunks of a body that is in memory. Other work runs between them.
 *
 * @param onRead called for each chunk that the client has read
 */
export async function* chunksOf(chunks: Buffer[], onRead: () => void) {
  for (const chunk of chunks) {
    yield chunk
    onRead()
    await setImmediate()
  }
}

/**
 * Reads the pages of streams, one at a time, to leave connections to others.
 * Streams that are at the same place share a page.
 */
export class PageStream {
  readonly #page: (after: string) => Promise<Page>

  constructor(reader: Pick<TableReader, 'readPage'>) {
    this.#page = batch(async (places: string[]) => {
      const reads = new Map<string, Promise<Page>>()
      const pages: Page[] = []
      for (const after of places) {
        const read = reads.get(after) ?? reader.readPage(after)
        reads.set(after, read)
        pages.push(await read)
      }
      return pages
    })
  }

  /**
   * A list, of which the start has been read.
   *
   * @param onRead called for each chunk that the client has read
   */
  async *continue({ chunks, next: first }: ListStart, onRead: () => void) {
    yield* chunksOf(chunks, onRead)

    let next: string | null = first
    while (next !== null) {
      const page: Page = await this.#page(next)
      yield page.bytes
      onRead()
      next = page.next
    }
  }
}
