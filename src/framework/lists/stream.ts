import { setImmediate } from 'node:timers/promises'
import type { SendTimer } from './send-timer.ts'
import type { ListPiece, TableReader } from './table-reader.ts'

/** The start of a list that is too long to be kept. */
export interface ListStart {
  kind: 'start'
  chunks: Buffer[]
  /** Bytes. */
  size: number
  /** The order column of the last item in `chunks`. */
  lastOrderValue: string
}

/**
 * The chunks of a body that is in memory. Other work runs between them.
 *
 * @param timer the time for the client to read a chunk
 */
export async function* chunksOf(chunks: Buffer[], timer: SendTimer) {
  for (const chunk of chunks) {
    yield chunk
    timer.restart()
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
   * The chunks of a list whose start has been read.
   *
   * @param timer the time for the client to read a chunk. It pauses while the
   *   next piece is read
   */
  async *continue(start: ListStart, timer: SendTimer) {
    yield* chunksOf(start.chunks, timer)

    let lastOrderValue: string | null = start.lastOrderValue
    while (lastOrderValue !== null) {
      timer.pause()
      const piece: ListPiece = await this.#pieceAfter(lastOrderValue)
      timer.restart()
      yield piece.bytes
      timer.restart()
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
    // Streams of the same tick share the piece.
    await setImmediate()
    this.#waiting.delete(lastOrderValue)

    return this.#reader.readPiece(lastOrderValue)
  }
}
