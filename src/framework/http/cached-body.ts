import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'

/** Bytes. A smaller body fits a packet, and is sent as it is. */
const minCompressedSize = 1024

/** Bytes. Node.js writes a text to the socket together with the headers. */
const maxTextSize = 4096

// Quality 5 takes about three times as long as gzip, and the highest 100 times.
const params = { [constants.BROTLI_PARAM_QUALITY]: 5 }

/** Functions that compress in other threads, by content coding. */
const compressors = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params }),
  gzip: promisify(gzip)
}

type Coding = keyof typeof compressors

/** The content codings, the preferred one first. */
const codings: Coding[] = ['br', 'gzip']

/** A body. It keeps each of its encodings once it was requested. */
export class CachedBody {
  /**
   * A hash of the unencoded body. The tag is weak, so it is the same for each
   * coding (RFC 9110, section 8.8.3).
   */
  readonly etag: string
  readonly #bytes: Buffer
  /** As text, if it is short. */
  readonly #unencoded: Buffer | string
  readonly #compressed = new Map<Coding, Promise<Buffer>>()

  constructor(content: Buffer | string) {
    const bytes = Buffer.from(content)
    this.etag = `W/"${hash('sha256', bytes, 'base64url')}"`
    this.#bytes = bytes
    this.#unencoded = bytes.length > maxTextSize ? bytes : content
  }

  /**
   * Negotiates what a request gets (RFC 9110, section 12), and sets ETag, Vary
   * and Content-Encoding.
   *
   * @returns the encoded body, or undefined for a 304: the client has it
   */
  async negotiate(
    {
      'accept-encoding': accepted = '',
      'if-none-match': tags = ''
    }: IncomingHttpHeaders,
    reply: { header: (name: string, value: string) => unknown }
  ): Promise<Buffer | string | undefined> {
    // RFC 9110, section 13.1.2: the comparison ignores W/.
    const isNotModified = tags === '*' || tags.includes(this.etag.slice(2))
    // The library would refuse gzip, too, after `gzip, *;q=0`.
    const named = accepted.toLowerCase().replace(/\*[^,]*/, '')
    const coding =
      isNotModified || this.#bytes.length < minCompressedSize
        ? null
        : negotiate(named, codings)
    // Before the headers, which the response to a failure must not have.
    const encoded =
      coding === null ? this.#unencoded : await this.#compress(coding)

    reply.header('etag', this.etag)
    // Replaces the one of @fastify/cors, and so names Origin.
    reply.header('vary', 'Authorization, Accept-Encoding, Origin')
    if (coding !== null) reply.header('content-encoding', coding)

    return isNotModified ? undefined : encoded
  }

  /**
   * Resolves when no compression of the body is running. Until then, the body
   * takes memory even if its clients have left.
   */
  async compressionsSettled(): Promise<void> {
    await Promise.allSettled(this.#compressed.values())
  }

  /** Compresses once. After a failure, the next request tries again. */
  #compress(coding: Coding): Promise<Buffer> {
    const earlier = this.#compressed.get(coding)
    if (earlier !== undefined) return earlier

    const bytes = compressors[coding](this.#bytes)
    this.#compressed.set(coding, bytes)
    bytes.catch(() => this.#compressed.delete(coding))

    return bytes
  }
}
