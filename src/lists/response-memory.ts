import type { ServerResponse } from 'node:http'
import { Overloaded } from '../batch.ts'
import { ListMemory } from './list-memory.ts'

/** Bytes. A body of this size fits the buffers of the operating system. */
const uncountedSize = 2 ** 16

/** A body that one or several responses hold. */
interface Body {
  /** Bytes. */
  size: number
}

/**
 * Limits the memory that responses hold until their clients have read them,
 * and the time for a client to read.
 */
export class ResponseMemory {
  /** The lists that are kept, whether they are being sent or not. */
  readonly lists: ListMemory
  readonly #limit: number
  readonly #sendTimeoutMs: number
  /** Number of responses that hold a body. */
  readonly #holders = new WeakMap<Body, number>()
  #reserved = 0

  /**
   * @param limit bytes
   * @param sendTimeoutMs milliseconds for a client to read a chunk, or a body
   *   that is sent at once
   */
  constructor(limit: number, sendTimeoutMs: number) {
    this.#limit = limit
    // Half of the limit, so that two versions of a list fit.
    this.lists = new ListMemory(limit / 2)
    this.#sendTimeoutMs = sendTimeoutMs
  }

  /**
   * Reserves memory for a body that no other response has.
   *
   * @param size bytes
   * @throws Overloaded if the limit would be exceeded
   */
  reserve(response: ServerResponse, size: number): void {
    this.reserveOnce(response, { size })
  }

  /**
   * Reserves memory until the response closes: the size of the body once for
   * all responses that hold it, and bytes of this response alone.
   *
   * @returns a function to call for each chunk that the client has read: the
   *   connection is closed if that takes too long
   * @throws Overloaded if the limit would be exceeded
   */
  reserveOnce(response: ServerResponse, body: Body, ownSize = 0): () => void {
    if (body.size + ownSize <= uncountedSize) return () => {}
    // It emits no further event that could release its memory.
    if (response.destroyed) return () => {}

    this.#hold(body, ownSize)
    const timer = setTimeout(() => response.destroy(), this.#sendTimeoutMs)
    response.once('close', () => {
      clearTimeout(timer)
      this.#release(body, ownSize)
    })
    return () => timer.refresh()
  }

  #hold(body: Body, ownSize: number): void {
    const reserved = this.#reserved + this.#sizeIfNotHeld(body) + ownSize
    if (reserved > this.#limit) throw new Overloaded()

    this.#reserved = reserved
    this.#addHolders(body, 1)
  }

  #release(body: Body, ownSize: number): void {
    this.#addHolders(body, -1)
    this.#reserved -= this.#sizeIfNotHeld(body) + ownSize
  }

  /** The size of a body, or 0 while a response holds it. */
  #sizeIfNotHeld(body: Body): number {
    return this.#holdersOf(body) === 0 ? body.size : 0
  }

  #addHolders(body: Body, change: 1 | -1): void {
    this.#holders.set(body, this.#holdersOf(body) + change)
  }

  #holdersOf(body: Body): number {
    return this.#holders.get(body) ?? 0
  }
}
