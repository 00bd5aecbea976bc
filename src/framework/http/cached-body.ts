import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'

/** Bytes from which a body is compressed. A smaller one fits into a packet. */
const minCompressedSize = 1024

/**
 * Bytes up to which a body stays a text, which Node.js writes to the socket
 * together with the headers.
 */
const maxTextSize = 4096

/** Compresses in another thread. */
const compress = promisify(gzip)

/** A body. It is compressed once, when that is first requested. */
export class CachedBody {
  /**
   * A hash of the unencoded body. The tag is weak, so that it is also that of
   * the compressed one (RFC 9110, section 8.8.3).
   */
  readonly etag: string
  readonly #bytes: Buffer
  /** As text, if it is short. */
  readonly #unencoded: Buffer | string
  #compressed: Promise<Buffer> | undefined

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
    // Without `*`: for `gzip, *;q=0`, the library would reject gzip, too.
    const named = accepted.toLowerCase().replace(/\*[^,]*/, '')
    const isCompressed =
      !isNotModified &&
      this.#bytes.length >= minCompressedSize &&
      negotiate(named, ['gzip']) !== null
    // First, because the response to a failure must not have these headers.
    const encoded = isCompressed ? await this.#compress() : this.#unencoded

    reply.header('etag', this.etag)
    // Origin, because this replaces the header of @fastify/cors.
    reply.header('vary', 'Authorization, Accept-Encoding, Origin')
    if (isCompressed) reply.header('content-encoding', 'gzip')

    return isNotModified ? undefined : encoded
  }

  /**
   * Resolves when the body is not being compressed. Until then, it takes memory
   * even if its clients have left.
   */
  async compressionSettled(): Promise<void> {
    await this.#compressed?.catch(() => {})
  }

  /** Compresses once. After a failure, the next request tries again. */
  #compress(): Promise<Buffer> {
    this.#compressed ??= compress(this.#bytes).catch((error: unknown) => {
      this.#compressed = undefined
      throw error
    })

    return this.#compressed
  }
}
