import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply } from 'fastify'

/** Bytes. A smaller body fits a packet. */
const minCompressedSize = 1024

/** Bytes. A larger body would take more than a tenth of a second. */
const maxCompressedSize = 2 ** 23

// Brotli of quality 5 takes as long as gzip; the highest takes 100 times that.
const params = { [constants.BROTLI_PARAM_QUALITY]: 5 }

/** They run in other threads. */
const compressors = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params }),
  gzip: promisify(gzip)
}

/** The content codings, in the order in which the service prefers them. */
const codings = ['br', 'gzip'] as const
type Coding = (typeof codings)[number]

/** A body that is kept, and each of its encodings once it was requested. */
export class CachedBody {
  /** The SHA-256 of the unencoded body, in base64url. */
  readonly digest: string
  readonly #bytes: Buffer
  readonly #compressed = new Map<Coding, Promise<Buffer>>()

  constructor(bytes: Buffer) {
    this.digest = createHash('sha256').update(bytes).digest('base64url')
    this.#bytes = bytes
  }

  /**
   * Selects what a request gets, and sets ETag and Content-Encoding. The tag is
   * weak, so it is the same for each coding (RFC 9110, section 8.8.3).
   *
   * @returns the bytes; undefined if the client has them: it gets a 304
   */
  async select(
    headers: IncomingHttpHeaders,
    reply: VaryingReply
  ): Promise<Buffer | undefined> {
    const tag = `"${this.digest}"`
    const knownTags = headers['if-none-match'] ?? ''
    reply.header('etag', `W/${tag}`)
    if (knownTags === '*' || knownTags.includes(tag)) return undefined

    const { length } = this.#bytes
    const isCompressed =
      length >= minCompressedSize && length <= maxCompressedSize
    const coding = codings.find((one) =>
      accepts(headers['accept-encoding'], one)
    )
    if (!isCompressed || coding === undefined) return this.#bytes

    const bytes = this.#compressed.get(coding) ?? this.#compress(coding)
    reply.header('content-encoding', coding)

    return bytes
  }

  /** Keeps the result, unless memory for it is lacking: then the next tries. */
  #compress(coding: Coding): Promise<Buffer> {
    const bytes = compressors[coding](this.#bytes)
    this.#compressed.set(coding, bytes)
    bytes.catch(() => this.#compressed.delete(coding))

    return bytes
  }
}

/** A reply whose headers can be read and set. */
interface VaryingReply {
  getHeader: FastifyReply['getHeader']
  header: (name: string, value: string) => unknown
}

/** Adds request headers to Vary. Keeps the Origin of @fastify/cors. */
export function addVary(reply: VaryingReply, names: string): void {
  const vary = [names, reply.getHeader('vary') ?? []]
  reply.header('vary', vary.flat().join(', '))
}

/**
 * Whether an Accept-Encoding allows a coding (RFC 9110, section 12.5.3).
 * @fastify/accept-negotiator would return br for `br;q=0, *`.
 */
function accepts(acceptEncoding = '', coding: Coding): boolean {
  const weights = new Map<string, number>()
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    // A pattern with spaces would take a time that is quadratic in them.
    const [name = '', weight = 'q=1'] = item.split(';')
    weights.set(name.trim(), Number(weight.trim().slice('q='.length)))
  }
  const weight = weights.get(coding) ?? weights.get('*') ?? 0

  return weight > 0
}
