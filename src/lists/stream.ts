import { setImmediate } from 'node:timers/promises'
import type { ListPiece, TableReader } from './table-reader.ts'

/** The start of a list that is too long to be kept. */
export interface ListStart {
  chunks: Buffer[]
  /** Bytes. */
  size: number
  /** The order column of the last item in `chunks`. */
  lastOrderValue: string
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
 * The streams of a list. Their pieces are read one at a time, to leave
 * connections to others. Streams that have sent the same last item and wait
 * share a piece. None joins a read that has started, which may be older than
 * its list. No piece is kept.
 */
export class ListStreams {
  readonly #reader: Pick<TableReader, 'readPiece'>
  readonly #waiting = new Map<string, Promise<ListPiece>>()
  /** Resolves after the newest read. */
  #lastRead: Promise<void> = Promise.resolve()

  constructor(reader: Pick<TableReader, 'readPiece'>) {
    this.#reader = reader
  }

  /**
   * The chunks of a list, of which the start has been read.
   *
   * @param onRead called for each chunk that the client has read
   */
  async *continue(start: ListStart, onRead: () => void) {
    yield* chunksOf(start.chunks, onRead)

    let lastOrderValue: string | null = start.lastOrderValue
    while (lastOrderValue !== null) {
      const piece: ListPiece = await this.#pieceAfter(lastOrderValue)
      yield piece.bytes
      onRead()
      lastOrderValue = piece.lastOrderValue
    }
  }

  #pieceAfter(lastOrderValue: string): Promise<ListPiece> {
    const waiting = this.#waiting.get(lastOrderValue)
    if (waiting !== undefined) return waiting

    const piece = this.#readAfter(this.#lastRead, lastOrderValue)
    this.#waiting.set(lastOrderValue, piece)
    this.#lastRead = piece.then(
      () => {},
      () => {}
    )
    return piece
  }

  async #readAfter(
    earlier: Promise<void>,
    lastOrderValue: string
  ): Promise<ListPiece> {
    await earlier
    // Streams of the same turn share the piece.
    await setImmediate()
    this.#waiting.delete(lastOrderValue)
    return this.#reader.readPiece(lastOrderValue)
  }
}
