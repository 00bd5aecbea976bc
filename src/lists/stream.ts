import { setImmediate } from 'node:timers/promises'
import { batch } from '../batch.ts'
import type { Page, TableReader } from './table-reader.ts'

/** The start of a list that is too long to be held. */
export interface ListStart {
  chunks: Buffer[]
  /** Bytes. */
  size: number
  /** The id of the last item in `chunks`. */
  lastId: string
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
 * Streams that have sent the same last item share a page.
 */
export class PageStream {
  readonly #pageAfter: (lastId: string) => Promise<Page>

  constructor(reader: Pick<TableReader, 'readPage'>) {
    this.#pageAfter = batch(async (lastIds: string[]) => {
      const reads = new Map<string, Promise<Page>>()
      const pages: Page[] = []
      for (const lastId of lastIds) {
        const read = reads.get(lastId) ?? reader.readPage(lastId)
        reads.set(lastId, read)
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
  async *continue(start: ListStart, onRead: () => void) {
    yield* chunksOf(start.chunks, onRead)

    let lastId: string | null = start.lastId
    while (lastId !== null) {
      const page: Page = await this.#pageAfter(lastId)
      yield page.bytes
      onRead()
      lastId = page.lastId
    }
  }
}
