import type { FastifyReply, FastifyRequest } from 'fastify'
import { addVary, CachedBody } from '../http/encodings.ts'

/** A file in memory, compressed once, that browsers and proxies may cache. */
export class PageFile {
  readonly #type: string
  readonly #body: CachedBody

  /** @param type the Content-Type */
  constructor(type: string, content: string | Buffer) {
    this.#type = type
    this.#body = new CachedBody(Buffer.from(content))
  }

  /** Handles a request: sends the file, or a 304 to a client that has it. */
  send = async (
    { headers }: FastifyRequest,
    reply: FastifyReply
  ): Promise<FastifyReply> => {
    reply.header('cache-control', 'public, no-cache')
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
