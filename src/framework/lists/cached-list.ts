import { shareRuns } from '../batch.ts'
import { CachedBody } from '../http/encodings.ts'
import { sharedReads } from '../metrics.ts'
import { currentSpan, inSpan } from '../tracing/spans.ts'
import type { ChangeCheck } from './change-check.ts'
import type { ListMemory } from './list-memory.ts'
import { type ListStart, ListStreams } from './stream.ts'
import type { ListPiece, TableReader } from './table-reader.ts'

/** A list that is complete in memory. */
interface WholeList {
  kind: 'whole'
  body: CachedBody
}

type CurrentList = WholeList | ListStart

interface VersionedList {
  list: CurrentList
  /**
   * The version of the table before the list was read. The check reports each
   * change once. If the read after it fails, only this version shows that the
   * list is old.
   */
  version: number
}

/** The pieces of a list, starting with the first one. */
interface JoinedPieces {
  chunks: Buffer[]
  /** Bytes. */
  size: number
  /** The order column of the last item; null: the list is complete. */
  lastOrderValue: string | null
}

/**
 * Why a list is not read further:
 *
 * - whole: the list is complete.
 * - too long: it exceeds the memory for kept lists.
 * - memory taken by others: lists that are being read at the same time take it.
 */
type EndOfRead = 'whole' | 'too long' | 'memory taken by others'

/**
 * A list that stays fresh and fast. Requests that wait at the same time share
 * one query, which checks whether the table has changed since it was read. A
 * request never joins a query that has started, so its response has everything
 * that was committed before the request arrived.
 */
export class CachedList {
  /** For a list that is too long to be kept. */
  readonly streams: ListStreams
  readonly #reader: Pick<TableReader, 'readPiece'>
  readonly #changes: Pick<ChangeCheck, 'version'>
  readonly #listMemory: ListMemory
  readonly #onUnused: () => void
  readonly #joinRun: () => Promise<CurrentList>
  #kept: VersionedList | undefined
  /** Number of requests that wait for the list. */
  #waiting = 0

  /**
   * @param changes its calls must not overlap with calls for other lists
   * @param listMemory counts the list while it is kept
   * @param onUnused called when nothing is kept and no request waits
   */
  constructor(
    reader: Pick<TableReader, 'readPiece'>,
    changes: Pick<ChangeCheck, 'version'>,
    listMemory: ListMemory,
    onUnused: () => void = () => {}
  ) {
    this.streams = new ListStreams(reader)
    this.#reader = reader
    this.#changes = changes
    this.#listMemory = listMemory
    this.#onUnused = onUnused
    this.#joinRun = shareRuns(
      (requestCount) => this.#run(requestCount),
      'shared read of a list'
    )
  }

  /** The list as it is now, or its start if it is too long to be kept. */
  async current(): Promise<CurrentList> {
    this.#waiting++
    try {
      return await this.#joinRun()
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
   * While requests wait for a list, it stays in use: the rows that it reads are
   * kept, and requests must not find another copy meanwhile.
   */
  #reportIfUnused(): void {
    if (this.#kept === undefined && this.#waiting === 0) this.#onUnused()
  }

  async #run(requestCount: number): Promise<CurrentList> {
    sharedReads.observe(requestCount)
    const span = currentSpan()
    const version = await this.#changes.version()
    return this.#useKept(version) ?? inSpan(span, () => this.#read(version))
  }

  /**
   * The kept list, if it is of this version of the table. It becomes the last
   * one to be forgotten.
   */
  #useKept(version: number): CurrentList | undefined {
    if (this.#kept?.version !== version) return undefined
    this.#listMemory.use(this)
    return this.#kept.list
  }

  async #read(version: number): Promise<CurrentList> {
    // Frees the memory of the old list before reading the new one.
    this.#kept = undefined
    this.#listMemory.remove(this)

    const { pieces, end } = await this.#readPieces()
    const { startSize } = this.#listMemory
    const stopAtSize = end === 'whole' ? Infinity : startSize
    const joined = joinPieces(pieces, stopAtSize)
    const list = this.#createList(joined)

    const mayKeep = end !== 'memory taken by others'
    if (mayKeep && this.#listMemory.keep(this, joined.size))
      this.#kept = { list, version }

    return list
  }

  /** Reads until the list or the memory ends. */
  async #readPieces(): Promise<{ pieces: ListPiece[]; end: EndOfRead }> {
    const { maxListSize } = this.#listMemory
    const pieces: ListPiece[] = []
    let size = 0

    try {
      for await (const piece of this.#allPieces()) {
        pieces.push(piece)
        size += piece.bytes.length
        const hasMemory = this.#listMemory.addRead(piece.bytes.length)

        if (size > maxListSize) return { pieces, end: 'too long' }
        if (!hasMemory && piece.lastOrderValue !== null)
          return { pieces, end: 'memory taken by others' }
      }
      return { pieces, end: 'whole' }
    } finally {
      this.#listMemory.endRead(size)
    }
  }

  async *#allPieces() {
    const span = currentSpan()
    const readAfter = (lastOrderValue: string | null) =>
      inSpan(span, () => this.#reader.readPiece(lastOrderValue))

    let piece = await readAfter(null)
    yield piece

    while (piece.lastOrderValue !== null) {
      piece = await readAfter(piece.lastOrderValue)
      yield piece
    }
  }

  #createList({ chunks, size, lastOrderValue }: JoinedPieces): CurrentList {
    if (lastOrderValue !== null)
      return { kind: 'start', chunks, size, lastOrderValue }

    const body = new CachedBody(chunks, (encodedSize, encodedBody) =>
      this.#reserve(encodedSize, encodedBody)
    )

    return { kind: 'whole', body }
  }

  /** Counts more bytes of a body; false if it is not kept, or memory lacks. */
  #reserve(size: number, body: CachedBody): boolean {
    const list = this.#kept?.list
    const isKept = list?.kind === 'whole' && list.body === body
    return isKept && this.#listMemory.grow(this, size)
  }
}

/** @param stopAtSize bytes from which on further pieces are left out */
function joinPieces(pieces: ListPiece[], stopAtSize: number): JoinedPieces {
  const all: JoinedPieces = { chunks: [], size: 0, lastOrderValue: null }
  for (const { bytes, lastOrderValue } of pieces) {
    all.chunks.push(bytes)
    all.size += bytes.length
    all.lastOrderValue = lastOrderValue
    if (all.size >= stopAtSize) break
  }

  return all
}
