import { createHash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyReply } from 'fastify'

/** Content codings, in the order in which the service prefers them. */
const codings = ['br', 'gzip', 'identity'] as const
type Coding = (typeof codings)[number]
type Compression = Exclude<Coding, 'identity'>

/** Bytes. A smaller body fits a packet. */
const minCompressedSize = 1024

/** Bytes. A larger body would take more than a tenth of a second. */
const maxCompressedSize = 2 ** 23

// They run in other threads. Brotli of quality 5 takes as long as gzip; the
// highest takes 100 times that.
const params = { [constants.BROTLI_PARAM_QUALITY]: 5 }
const compressors: Record<Compression, (bytes: Buffer) => Promise<Buffer>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params }),
  gzip: promisify(gzip)
}

/** A body in one of its content codings. */
interface EncodedBody {
  coding: Coding
  bytes: Buffer
  /** A strong entity tag (RFC 9110, section 8.8.3). */
  etag: string
}

/** A body that is kept, and each of its encodings once it was requested. */
export class CachedBody {
  /** The SHA-256 of the unencoded body, in base64url. */
  readonly digest: string
  readonly #identity: EncodedBody
  readonly #etags: Record<Coding, string>
  readonly #compressed = new Map<Compression, Promise<EncodedBody>>()

  constructor(bytes: Buffer) {
    this.digest = createHash('sha256').update(bytes).digest('base64url')
    this.#etags = {
      identity: `"${this.digest}"`,
      gzip: `"${this.digest}-gzip"`,
      br: `"${this.digest}-br"`
    }
    this.#identity = { coding: 'identity', bytes, etag: this.#etags.identity }
  }

  /**
   * Selects what a request gets, and sets ETag and Content-Encoding.
   *
   * @returns the bytes; undefined if the client has them: it gets a 304
   */
  async select(
    headers: IncomingHttpHeaders,
    reply: VaryingReply
  ): Promise<Buffer | undefined> {
    const matchingTag = this.#matchingTag(headers['if-none-match'])
    if (matchingTag !== undefined) {
      reply.header('etag', matchingTag)
      return undefined
    }

    const encoded = await this.encodedFor(headers['accept-encoding'])
    const { coding, bytes, etag } = encoded
    reply.header('etag', etag)
    if (coding !== 'identity') reply.header('content-encoding', coding)

    return bytes
  }

  /**
   * The body in the coding that an Accept-Encoding prefers (RFC 9110, section
   * 12.5.3). It is unencoded if it has less than 1 KiB or more than 8 MiB, or
   * if the coding would not make it smaller.
   */
  encodedFor(
    acceptEncoding: string | undefined
  ): EncodedBody | Promise<EncodedBody> {
    const size = this.#identity.bytes.length
    if (size < minCompressedSize || size > maxCompressedSize)
      return this.#identity

    const coding = preferredCoding(acceptEncoding)
    if (coding === 'identity') return this.#identity

    const compressed = this.#compressed.get(coding) ?? this.#compress(coding)
    this.#compressed.set(coding, compressed)

    return compressed
  }

  /**
   * The first tag of an If-None-Match that is one of this body's, in any
   * coding; for `*` the tag of the unencoded body.
   */
  #matchingTag(ifNoneMatch: string | undefined): string | undefined {
    if (ifNoneMatch?.trim() === '*') return this.#etags.identity

    // A weak comparison (RFC 9110, section 8.8.3.2) ignores W/.
    // A tag may contain commas.
    const tags = ifNoneMatch?.match(/"[^"]*"/g) ?? []
    const own = Object.values(this.#etags)

    return tags.find((tag) => own.includes(tag))
  }

  async #compress(coding: Compression): Promise<EncodedBody> {
    const identity = this.#identity
    // Without enough memory, the body stays unencoded.
    const bytes = await compressors[coding](identity.bytes).catch(
      () => identity.bytes
    )

    return bytes.length < identity.bytes.length
      ? { coding, bytes, etag: this.#etags[coding] }
      : identity
  }
}

/** A reply whose headers can be read and set. */
export interface VaryingReply {
  getHeader: FastifyReply['getHeader']
  header: (name: string, value: string) => unknown
}

/** Adds request headers to Vary. Keeps the Origin of @fastify/cors. */
export function addVary(reply: VaryingReply, names: string): void {
  const vary = [names, reply.getHeader('vary') ?? []]
  reply.header('vary', vary.flat().join(', '))
}

/**
 * accept-negotiator deviates from RFC 9110 in two ways. It compares case,
 * although names of codings (section 8.4.1) and `q` ignore it. And it lets `*`
 * stand for its first coding, even if the header rejects that one: for
 * `br;q=0, *` it returns br, which the client cannot read.
 */
function preferredCoding(acceptEncoding = ''): Coding {
  const header = acceptEncoding.toLowerCase()
  const accepted = codings.filter((coding) => !rejects(header, coding))
  const preferred = negotiate(header, accepted)
  return accepted.find((coding) => coding === preferred) ?? 'identity'
}

/** Whether an Accept-Encoding names the coding with a weight of 0. */
function rejects(header: string, coding: Coding): boolean {
  return header.split(',').some((item) => {
    const [name = '', weight = 'q=1'] = item.split(';')
    return name.trim() === coding && Number(weight.trim().slice(2)) === 0
  })
}
