import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import Negotiator from 'negotiator'

type Coding = 'br' | 'gzip' | 'identity'

/** The bytes of a body in one content coding, and the strong validator of just these bytes (RFC 9110, section 8.8.3). */
export interface Encoded {
  coding: Coding
  bytes: Buffer
  etag: string
}

/** The bytes of a body, with its content codings and entity tags, each made once for all responses that carry it. */
export interface Representation {
  bytes: Buffer
  /** The body in the coding that an Accept-Encoding asks for (RFC 9110, section 12.5.3); unencoded where that does not pay. */
  encoded(acceptEncoding: string | undefined): Promise<Encoded>
  /** The entity tag among those of an If-None-Match that is one of this body's, in any coding; `*` is the body's as it is. */
  match(ifNoneMatch: string): string | undefined
}

/** Bytes below which a body is not compressed: it fits a packet or little more, whatever is done. */
const worthCompressing = 1024

const compressors = {
  // The qualities at which both take about as long; the highest of Brotli takes a hundred times longer.
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes)
}

export function represent(bytes: Buffer): Representation {
  const digest = hash('sha256', bytes, 'base64url')
  const tags: Record<Coding, string> = { identity: `"${digest}"`, gzip: `"${digest}-gzip"`, br: `"${digest}-br"` }
  const identity: Promise<Encoded> = Promise.resolve({ coding: 'identity', bytes, etag: tags.identity })
  const encodings = new Map([['identity', identity]])

  async function compress(coding: keyof typeof compressors): Promise<Encoded> {
    const compressed = await compressors[coding](bytes)
    return compressed.length < bytes.length ? { coding, bytes: compressed, etag: tags[coding] } : identity
  }

  return {
    bytes,
    encoded(acceptEncoding) {
      const coding = bytes.length < worthCompressing ? 'identity' : negotiate(acceptEncoding)
      let encoded = encodings.get(coding)
      if (encoded === undefined) {
        encodings.set(coding, (encoded = compress(coding as keyof typeof compressors)))
        // A failure, such as too little memory, must not last as long as the body.
        encoded.catch(() => encodings.delete(coding))
      }
      return encoded
    },
    match(ifNoneMatch) {
      if (ifNoneMatch.trim() === '*') return tags.identity
      // Weak comparison (RFC 9110, section 8.8.3.2): W/ makes no difference. A tag may hold commas.
      const given = ifNoneMatch.match(/"[^"]*"/g) ?? []
      return given.find((tag) => tag === tags.identity || tag === tags.gzip || tag === tags.br)
    }
  }
}

const preferred: Coding[] = ['br', 'gzip', 'identity']
const negotiated = new Map<string, Coding>()

/** The coding for an Accept-Encoding; clients send few different ones, which are remembered. */
function negotiate(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined) return 'identity'
  let coding = negotiated.get(acceptEncoding)
  if (coding === undefined) {
    const negotiator = new Negotiator({ headers: { 'accept-encoding': acceptEncoding } })
    // Its types lack the options.
    const encoding = negotiator.encoding.bind(negotiator) as (
      available: Coding[],
      options: object
    ) => Coding | undefined
    coding = encoding(preferred, { preferred }) ?? 'identity'
    if (negotiated.size === 100) negotiated.clear()
    negotiated.set(acceptEncoding, coding)
  }
  return coding
}
