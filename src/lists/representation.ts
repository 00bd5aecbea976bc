import { Readable } from 'node:stream'
import { constants, createBrotliCompress, createGzip } from 'node:zlib'
import Negotiator from 'negotiator'

/** In the order in which the service prefers them. */
const codings = ['br', 'gzip', 'identity'] as const
type Coding = (typeof codings)[number]

/** Bytes. Smaller bodies fit a packet; larger ones would take more than a tenth of a second to compress. */
const minSize = 1024
const maxSize = 2 ** 23

const compressors = {
  // Quality 5 takes as long as gzip; the highest quality takes a hundred times as long.
  br: (chunkSize: number) =>
    createBrotliCompress({
      chunkSize,
      params: { [constants.BROTLI_PARAM_QUALITY]: 5 }
    }),
  gzip: (chunkSize: number) => createGzip({ chunkSize })
}

/**
 * A body with its content codings and their strong entity tags (RFC 9110, section 8.8.3), each made once.
 *
 * @param chunks the body
 * @param size its length in bytes
 * @param digest distinguishes it from other bodies
 */
export function represent(chunks: Buffer[], size: number, digest: string) {
  const tags = {
    identity: `"${digest}"`,
    gzip: `"${digest}-gzip"`,
    br: `"${digest}-br"`
  }
  const identity = {
    coding: 'identity' as Coding,
    chunks,
    size,
    etag: tags.identity
  }
  const encodings: Partial<Record<Coding, Promise<typeof identity>>> = {}

  /** Compresses in other threads, chunk by chunk. */
  async function compress(coding: keyof typeof compressors) {
    const compressor = compressors[coding](Math.min(size, 2 ** 18))
    const encoded = (await Readable.from(chunks)
      .pipe(compressor)
      .toArray()) as Buffer[]
    const length = encoded.reduce((sum, chunk) => sum + chunk.length, 0)
    return length < size
      ? { coding, chunks: encoded, size: length, etag: tags[coding] }
      : identity
  }

  return {
    /** The body in the coding that an Accept-Encoding prefers (RFC 9110, section 12.5.3), unless that is not smaller. */
    encoded(acceptEncoding: string | undefined) {
      if (acceptEncoding === undefined || size < minSize || size > maxSize)
        return identity
      const coding = negotiate(acceptEncoding)
      if (coding === 'identity') return identity
      return (encodings[coding] ??= compress(coding).catch((error: unknown) => {
        // A failure, such as a lack of memory, must not be kept with the body.
        delete encodings[coding]
        throw error
      }))
    },
    /** The first tag of an If-None-Match that is one of this body's, in any coding; for `*` the tag of the unencoded body. */
    match(ifNoneMatch = '') {
      if (ifNoneMatch.trim() === '*') return tags.identity
      // The comparison is weak (section 8.8.3.2): it ignores W/. A tag may contain commas.
      return ifNoneMatch
        .match(/"[^"]*"/g)
        ?.find((tag) => Object.values(tags).includes(tag))
    }
  }
}

/** The coding for an Accept-Encoding. */
function negotiate(acceptEncoding: string): Coding {
  // The types of negotiator lack the second parameter.
  const negotiator: {
    encoding(available: readonly Coding[], options: object): string | undefined
  } = new Negotiator({
    headers: { 'accept-encoding': acceptEncoding }
  })
  return (negotiator.encoding(codings, { preferred: codings }) ??
    'identity') as Coding
}
