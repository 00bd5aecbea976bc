import { createHash } from 'node:crypto'
import { Readable, type Transform } from 'node:stream'
import { constants, createBrotliCompress, createGzip } from 'node:zlib'
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

/** Bytes of a compressed chunk. */
const compressedChunkSize = 2 ** 18

/**
 * Bytes. A body of up to this size is sent in one piece, a larger one in
 * chunks.
 */
const maxJoinedSize = 2 ** 20

// Brotli of quality 5 takes as long as gzip; the highest takes 100 times that.
const brotliParams = { [constants.BROTLI_PARAM_QUALITY]: 5 }

/** Creates a compressor whose chunks have this many bytes. */
type Compressors = Record<Compression, (chunkSize: number) => Transform>

const zlibCompressors: Compressors = {
  br: (chunkSize) => createBrotliCompress({ chunkSize, params: brotliParams }),
  gzip: (chunkSize) => createGzip({ chunkSize })
}

/** A body in one of its content codings. */
interface EncodedBody {
  coding: Coding
  /** One Buffer, unless the body is longer than 1 MiB. */
  chunks: Buffer[]
  /** Bytes. */
  size: number
  /** A strong entity tag (RFC 9110, section 8.8.3). */
  etag: string
}

/** A body that is kept, and each of its encodings once it was requested. */
export class CachedBody {
  /** The SHA-256 of the unencoded body, in base64url. */
  readonly digest: string
  readonly #identity: EncodedBody
  readonly #etags: Record<Coding, string>
  readonly #reserve: (size: number, body: CachedBody) => boolean
  readonly #compressors: Compressors
  readonly #compressed = new Map<Compression, Promise<EncodedBody>>()

  /**
   * @param reserve reserves memory for an encoding of this body, of `size`
   *   bytes; returns false if there is none
   */
  constructor(
    chunks: Buffer[],
    reserve: (size: number, body: CachedBody) => boolean = () => true,
    compressors = zlibCompressors
  ) {
    const hash = createHash('sha256')
    for (const chunk of chunks) hash.update(chunk)
    this.digest = hash.digest('base64url')

    this.#etags = {
      identity: `"${this.digest}"`,
      gzip: `"${this.digest}-gzip"`,
      br: `"${this.digest}-br"`
    }
    this.#identity = this.#encodedBody('identity', chunks)
    this.#reserve = reserve
    this.#compressors = compressors
  }

  /**
   * The body in the coding that an Accept-Encoding prefers (RFC 9110, section
   * 12.5.3). It is unencoded if it has less than 1 KiB or more than 8 MiB, if
   * the coding would not make it smaller, or if there is no memory for it.
   */
  encodedFor(
    acceptEncoding: string | undefined
  ): EncodedBody | Promise<EncodedBody> {
    const { size } = this.#identity
    if (size < minCompressedSize || size > maxCompressedSize)
      return this.#identity

    const coding = preferredCoding(acceptEncoding)
    if (coding === 'identity') return this.#identity

    return this.#compressed.get(coding) ?? this.#compressOnce(coding)
  }

  /**
   * The first tag of an If-None-Match that is one of this body's, in any
   * coding; for `*` the tag of the unencoded body.
   */
  matchingTag(ifNoneMatch: string | undefined): string | undefined {
    if (ifNoneMatch === undefined) return undefined
    if (isAnyTag(ifNoneMatch)) return this.#etags.identity

    // A weak comparison (RFC 9110, section 8.8.3.2) ignores W/.
    // A tag may contain commas.
    const tags = ifNoneMatch.match(/"[^"]*"/g) ?? []
    const own = Object.values(this.#etags)

    return tags.find((tag) => own.includes(tag))
  }

  #compressOnce(coding: Compression): Promise<EncodedBody> {
    const compressed = this.#compress(coding).catch((error: unknown) => {
      // A failure, such as a lack of memory, must not be kept with the body.
      this.#compressed.delete(coding)
      throw error
    })
    this.#compressed.set(coding, compressed)

    return compressed
  }

  /** Compresses in other threads, chunk by chunk. */
  async #compress(coding: Compression): Promise<EncodedBody> {
    const { chunks, size } = this.#identity
    const chunkSize = Math.min(size, compressedChunkSize)
    const compressor = this.#compressors[coding](chunkSize)
    const stream = Readable.from(chunks).pipe(compressor)
    const compressed = (await stream.toArray()) as Buffer[]

    const encoded = this.#encodedBody(coding, compressed)
    const isSmaller = encoded.size < size
    const isKept = isSmaller && this.#reserve(encoded.size, this)

    return isKept ? encoded : this.#identity
  }

  #encodedBody(coding: Coding, chunks: Buffer[]): EncodedBody {
    const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0)

    return {
      coding,
      // One Buffer costs half as much to send as a stream of chunks.
      chunks: size > maxJoinedSize ? chunks : [Buffer.concat(chunks, size)],
      size,
      etag: this.#etags[coding]
    }
  }
}

interface VaryingReply {
  getHeader: FastifyReply['getHeader']
  header: (name: string, value: string) => unknown
}

/** Adds request headers to Vary. Keeps the Origin of @fastify/cors. */
export function addVary(reply: VaryingReply, names: string): void {
  const vary = [names, reply.getHeader('vary') ?? []]
  reply.header('vary', vary.flat().join(', '))
}

/** Whether an If-None-Match is true for every existing representation. */
export function isAnyTag(ifNoneMatch: string | undefined): boolean {
  return ifNoneMatch?.trim() === '*'
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
