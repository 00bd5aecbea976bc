import type { ServerResponse } from 'node:http'
import { Overloaded } from '../batch.ts'

/** Bytes. A body of this size fits the buffers of the operating system. */
const uncountedSize = 2 ** 16

/**
 * Limits the memory that responses hold until their clients have read them,
 * and the time for a client to read.
 */
export class ResponseMemory {
  /** Bytes. */
  readonly limit: number
  readonly #timeout: number
  /** Number of responses that hold a shared body. */
  readonly #holders = new WeakMap<object, number>()
  #reserved = 0

  /**
   * @param limit bytes
   * @param timeout milliseconds for a client to read a chunk, or a body that
   *   is sent at once
   */
  constructor(limit: number, timeout: number) {
    this.limit = limit
    this.#timeout = timeout
  }

  /**
   * Reserves memory for a body that no other response has.
   *
   * @param size bytes
   * @throws Overloaded if the limit would be exceeded
   */
  reserve(response: ServerResponse, size: number): void {
    this.reserveShared(response, { size: 0 }, size)
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
    body: { size: number },
    ownSize = 0
  ): () => void {
    // A closed response emits no further event that could release its memory.
    const isUncounted = body.size + ownSize <= uncountedSize
    if (isUncounted || response.destroyed) return () => {}

    this.#hold(body, ownSize)
    const timer = setTimeout(() => response.destroy(), this.#timeout)
    response.once('close', () => {
      clearTimeout(timer)
      this.#release(body, ownSize)
    })
    return () => timer.refresh()
  }

  #hold(body: { size: number }, ownSize: number): void {
    const holders = this.#holders.get(body) ?? 0
    const sharedSize = holders === 0 ? body.size : 0
    const reserved = this.#reserved + sharedSize + ownSize
    if (reserved > this.limit) throw new Overloaded()

    this.#reserved = reserved
    this.#holders.set(body, holders + 1)
  }

  #release(body: { size: number }, ownSize: number): void {
    const holders = Number(this.#holders.get(body)) - 1
    const sharedSize = holders === 0 ? body.size : 0
    this.#reserved -= sharedSize + ownSize
    this.#holders.set(body, holders)
  }
}
