import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import Negotiator from 'negotiator'

/** In the order in which the service prefers them. */
const codings = ['br', 'gzip', 'identity'] as const
type Coding = (typeof codings)[number]

/** Bytes below which a body is not compressed: it fits in about one packet anyway. */
const worthCompressing = 1024

const compressors = {
  // Quality 5 takes as long as gzip; the highest quality takes a hundred times as long.
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
  identity: (bytes: Buffer) => Promise.resolve(bytes)
}

/** A body with its content codings and their strong entity tags (RFC 9110, section 8.8.3), each made once. */
export function represent(bytes: Buffer) {
  const digest = hash('sha256', bytes, 'base64url')
  const tags = { identity: `"${digest}"`, gzip: `"${digest}-gzip"`, br: `"${digest}-br"` }
  const encodings = new Map<Coding, ReturnType<typeof encode>>()

  async function encode(coding: Coding) {
    const encoded = await compressors[coding](bytes)
    const isSmaller = encoded.length < bytes.length
    return isSmaller
      ? { coding, bytes: encoded, etag: tags[coding] }
      : { coding: 'identity', bytes, etag: tags.identity }
  }

  return {
    /** The body in the coding that an Accept-Encoding prefers (RFC 9110, section 12.5.3), unless that is not smaller. */
    encoded(acceptEncoding: string | undefined) {
      const coding = bytes.length < worthCompressing ? 'identity' : negotiate(acceptEncoding)
      let encoded = encodings.get(coding)
      if (encoded === undefined) {
        encodings.set(coding, (encoded = encode(coding)))
        // A failure, such as too little memory, must not last as long as the body.
        encoded.catch(() => encodings.delete(coding))
      }
      return encoded
    },
    /** The first tag of an If-None-Match that is one of this body's, in any coding; for `*` the tag of the unencoded body. */
    match(ifNoneMatch = '') {
      if (ifNoneMatch.trim() === '*') return tags.identity
      // The comparison is weak (section 8.8.3.2): it ignores W/. A tag may contain commas.
      return ifNoneMatch.match(/"[^"]*"/g)?.find((tag) => Object.values(tags).includes(tag))
    }
  }
}

const negotiated = new Map<string | undefined, Coding>([[undefined, 'identity']])

/** The coding for an Accept-Encoding. Clients send few different values, which are remembered. */
function negotiate(acceptEncoding: string | undefined): Coding {
  let coding = negotiated.get(acceptEncoding)
  if (coding === undefined) {
    const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } })
    // The types of negotiator lack the second parameter.
    const choose: (available: readonly Coding[], options: object) => string | undefined =
      negotiator.encoding.bind(negotiator)
    coding = (choose(codings, { preferred: codings }) ?? 'identity') as Coding
    if (negotiated.size > 100) negotiated.clear()
    negotiated.set(acceptEncoding, coding)
  }
  return coding
}
