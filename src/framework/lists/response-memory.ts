import type { ServerResponse } from 'node:http'
import { Overloaded } from '../batch.ts'
import { maxResponseMemory, responseMemory } from '../metrics.ts'
import { ListMemory } from './list-memory.ts'
import { ResponseTimer, type SendTimer, unlimitedTime } from './send-timer.ts'

/** Bytes. A body of this size fits the buffers of the operating system. */
const uncountedSize = 2 ** 16

/** A body that one or several responses hold. */
interface Body {
  /** Bytes. */
  size: number
}

/**
 * Limits the memory that responses hold until their clients have read them, and
 * the time for a client to read.
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
   *   that is sent in one piece
   */
  constructor(limit: number, sendTimeoutMs: number) {
    this.#limit = limit
    // Half of the limit, so that two versions of a list fit.
    this.lists = new ListMemory(limit / 2)
    this.#sendTimeoutMs = sendTimeoutMs
    maxResponseMemory.set(limit)
  }

  /**
   * Reserves memory for a body that no other response has.
   *
   * @param size bytes
   * @throws Overloaded if the limit would be exceeded
   */
  reserveOwn(response: ServerResponse, size: number): void {
    this.reserveShared(response, { size })
  }

  /**
   * Reserves memory until the response closes: the size of the body once for
   * all responses that hold it, and bytes of this response alone.
   *
   * @returns the time for the client to read, which has begun
   * @throws Overloaded if the limit would be exceeded
   */
  reserveShared(response: ServerResponse, body: Body, ownSize = 0): SendTimer {
    if (body.size + ownSize <= uncountedSize) return unlimitedTime
    // It emits no further event that could release its memory.
    if (response.destroyed) return unlimitedTime

    this.#hold(body, ownSize)
    const timer = new ResponseTimer(response, this.#sendTimeoutMs)
    timer.restart()
    response.once('close', () => {
      timer.pause()
      this.#release(body, ownSize)
    })

    return timer
  }

  #hold(body: Body, ownSize: number): void {
    const size = this.#sizeIfNotHeld(body) + ownSize
    if (this.#reserved + size > this.#limit) throw new Overloaded()
    this.#addReserved(size)
    this.#addHolders(body, 1)
  }

  #release(body: Body, ownSize: number): void {
    this.#addHolders(body, -1)
    this.#addReserved(-this.#sizeIfNotHeld(body) - ownSize)
  }

  /** @param size bytes; negative to release them */
  #addReserved(size: number): void {
    this.#reserved += size
    responseMemory.inc(size)
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
