import type { FastifyReply, FastifyRequest } from 'fastify'
import { addVary, CachedBody } from '../http/encodings.ts'

/** Seconds. Caches need not ask again for a URL that names its version. */
const aYear = 31_536_000

/** A file in memory, compressed once, that browsers and proxies may cache. */
export class PageFile {
  readonly #type: string
  readonly #body: CachedBody

  /** @param type the Content-Type */
  constructor(type: string, content: string | Buffer) {
    this.#type = type
    this.#body = new CachedBody(Buffer.from(content))
  }

  /** The query of a URL that may be cached forever: `v=` and a digest. */
  get version(): string {
    return `v=${this.#body.digest}`
  }

  /** Handles a request: sends the file, or a 304 to a client that has it. */
  send = async (
    { headers, url }: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> => {
    // While replicas are replaced, one of the other version may get the
    // request: its content must not be kept under this URL.
    const isOwnVersion = url.endsWith(`?${this.version}`)
    const caching = isOwnVersion ? `max-age=${aYear}, immutable` : 'no-cache'
    reply.header('cache-control', `public, ${caching}`)
    addVary(reply, 'Accept-Encoding')

    const matchingTag = this.#body.matchingTag(headers['if-none-match'])
    if (matchingTag !== undefined)
      return reply.header('etag', matchingTag).code(304).send()

    const encoded = await this.#body.encodedFor(headers['accept-encoding'])
    const { coding, bytes, etag } = encoded
    reply.header('etag', etag).type(this.#type)
    if (coding !== 'identity') reply.header('content-encoding', coding)

    return reply.send(bytes)
  }
}
