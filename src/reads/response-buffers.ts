import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { CachedBody } from './cached-body.ts'

/**
 * Bytes up to which a body is not counted, because it usually fits into the
 * buffers of its connection.
 */
const uncountedSize = 2 ** 16

/**
 * Limits the memory of bodies that clients have yet to read. A body counts
 * once, however many clients read it, compressed or not. When a new body needs
 * room, the connections that read the least recently sent body are closed, so a
 * slow client denies nothing to other clients.
 */
export class ResponseBuffers {
  /** Bytes. */
  readonly limit: number
  readonly #log: Logger
  /** The responses that send each body. The last sent body is last. */
  readonly #readers = new Map<CachedBody, Set<ServerResponse>>()
  #size = 0

  constructor(limit: number, log: Logger) {
    this.limit = limit
    this.#log = log
  }

  /**
   * Counts a body until the response closes, or its connection. The response to
   * a HEAD does not send it.
   */
  track(body: CachedBody, response: ServerResponse): void {
    const { method, socket } = response.req
    if (body.size <= uncountedSize || method === 'HEAD') return
    // After the client has left, no event could end the count.
    if (socket.destroyed) return

    const readers = this.#readers.get(body) ?? this.#add(body)
    // Moves the body to the end.
    this.#readers.delete(body)
    this.#readers.set(body, readers.add(response))
    const release = () => {
      socket.off('close', release)
      readers.delete(response)
      // After an eviction, the same body may have other readers.
      const isCounted = this.#readers.get(body) === readers
      if (isCounted && readers.size === 0) this.#remove(body)
    }
    response.once('close', release)
    // A response that waits for another response of its connection does not
    // close with it (nodejs/node#62534). Many may wait.
    socket.setMaxListeners(0).once('close', release)
  }

  #add(body: CachedBody): Set<ServerResponse> {
    for (const [other, readers] of this.#readers) {
      if (this.#size + body.size <= this.limit) break
      this.#remove(other)
      for (const { req } of readers) req.socket.destroy()
      const connections = readers.size
      this.#log.warn({ connections }, 'closed, because they read too slowly')
    }
    this.#size += body.size

    return new Set()
  }

  #remove(body: CachedBody): void {
    this.#readers.delete(body)
    this.#size -= body.size
  }
}
