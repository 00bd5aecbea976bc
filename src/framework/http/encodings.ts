import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'

/** Bytes. A smaller body fits a packet. */
const minCompressedSize = 1024

// Brotli of quality 5 takes as long as gzip; the highest takes 100 times that.
const params = { [constants.BROTLI_PARAM_QUALITY]: 5 }

/** By content coding. They run in other threads. */
const compressors = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params }),
  gzip: promisify(gzip)
}

type Coding = keyof typeof compressors

/** In the order in which the service prefers them. */
const codings: Coding[] = ['br', 'gzip']

/** A body that is kept, and each of its encodings once it was requested. */
export class CachedBody {
  /**
   * A hash of the unencoded body. The tag is weak, so it is the same for each
   * coding (RFC 9110, section 8.8.3).
   */
  readonly etag: string
  readonly #bytes: Buffer
  readonly #compressed = new Map<Coding, Promise<Buffer>>()

  constructor(bytes: Buffer) {
    const digest = createHash('sha256').update(bytes).digest('base64url')
    this.etag = `W/"${digest}"`
    this.#bytes = bytes
  }

  /**
   * Selects what a request gets, and sets ETag, Vary and Content-Encoding.
   *
   * @returns the bytes; undefined if the client has them: it gets a 304
   */
  async select(
    headers: IncomingHttpHeaders,
    reply: { header: (name: string, value: string) => unknown }
  ): Promise<Buffer | undefined> {
    reply.header('etag', this.etag)
    // Replaces the one of @fastify/cors, and so names Origin.
    reply.header('vary', 'Authorization, Accept-Encoding, Origin')
    const knownTags = headers['if-none-match'] ?? ''
    // Also without W/ (RFC 9110, section 13.1.2).
    const tag = this.etag.replace('W/', '')
    if (knownTags === '*' || knownTags.includes(tag)) return undefined

    const accepted = headers['accept-encoding'] ?? ''
    const coding = negotiate(accepted.toLowerCase(), codings)
    if (coding === null || this.#bytes.length < minCompressedSize)
      return this.#bytes

    const bytes = await (this.#compressed.get(coding) ?? this.#compress(coding))
    reply.header('content-encoding', coding)

    return bytes
  }

  /** Compresses once. After a failure, the next request tries again. */
  #compress(coding: Coding): Promise<Buffer> {
    const bytes = compressors[coding](this.#bytes)
    this.#compressed.set(coding, bytes)
    bytes.catch(() => this.#compressed.delete(coding))

    return bytes
  }
}
