import type { ServerResponse } from 'node:http'
import { Overloaded } from '../batch.ts'
import { maxResponseMemory, responseMemory } from '../metrics.ts'
import { KeptLists } from './kept-lists.ts'

/** Bytes. A body of this size fits the buffers of the operating system. */
const uncountedSize = 2 ** 16

/** A body that several responses may hold. */
interface SharedBody {
  /** Bytes. */
  size: number
}

/**
 * Limits the memory that responses hold until their clients have read them,
 * and the time for a client to read.
 */
export class ResponseMemory {
  /** The lists that are kept, whether they are being sent or not. */
  readonly lists: KeptLists
  readonly #limit: number
  readonly #timeout: number
  /** Number of responses that hold a shared body. */
  readonly #holders = new WeakMap<SharedBody, number>()
  #reserved = 0

  /**
   * @param limit bytes
   * @param timeout milliseconds for a client to read a chunk, or a body that
   *   is sent at once
   */
  constructor(limit: number, timeout: number) {
    this.#limit = limit
    // Half of the limit, so that two versions of a list fit.
    this.lists = new KeptLists(limit / 2)
    this.#timeout = timeout
    maxResponseMemory.set(limit)
  }

  /**
   * Reserves memory for a body that no other response has.
   *
   * @param size bytes
   * @throws Overloaded if the limit would be exceeded
   */
  reserve(response: ServerResponse, size: number): void {
    this.#reserveUntilClosed(response, undefined, size)
  }

  /**
   * Reserves memory until the response closes: the size of the body once for
   * all responses that share it, and bytes of this response alone.
   *
   * @returns a function to call for each chunk that the client has read: the
   *   connection is closed if that takes too long
   * @throws Overloaded if the limit would be exceeded
   */
  reserveShared(
    response: ServerResponse,
    body: SharedBody,
    ownSize = 0
  ): () => void {
    return this.#reserveUntilClosed(response, body, ownSize)
  }

  #reserveUntilClosed(
    response: ServerResponse,
    body: SharedBody | undefined,
    ownSize: number
  ): () => void {
    const size = (body?.size ?? 0) + ownSize
    if (size <= uncountedSize) return () => {}
    // It emits no further event that could release its memory.
    if (response.destroyed) return () => {}

    this.#hold(body, ownSize)
    const timer = setTimeout(() => response.destroy(), this.#timeout)
    response.once('close', () => {
      clearTimeout(timer)
      this.#release(body, ownSize)
    })
    return () => timer.refresh()
  }

  #hold(body: SharedBody | undefined, ownSize: number): void {
    const size = this.#sizeIfNotHeld(body) + ownSize
    if (this.#reserved + size > this.#limit) throw new Overloaded()

    this.#addReserved(size)
    this.#addHolders(body, 1)
  }

  #release(body: SharedBody | undefined, ownSize: number): void {
    this.#addHolders(body, -1)
    this.#addReserved(-this.#sizeIfNotHeld(body) - ownSize)
  }

  /** @param size bytes; negative to release them */
  #addReserved(size: number): void {
    this.#reserved += size
    responseMemory.inc(size)
  }

  /** The size of a shared body, or 0 while a response holds it. */
  #sizeIfNotHeld(body: SharedBody | undefined): number {
    if (body === undefined) return 0
    return this.#holdersOf(body) === 0 ? body.size : 0
  }

  #addHolders(body: SharedBody | undefined, change: 1 | -1): void {
    if (body === undefined) return
    this.#holders.set(body, this.#holdersOf(body) + change)
  }

  #holdersOf(body: SharedBody): number {
    return this.#holders.get(body) ?? 0
  }
}
