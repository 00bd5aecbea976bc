import type { FastifyReply, FastifyRequest } from 'fastify'
import { CachedBody } from '../http/encodings.ts'

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
    const bytes = await this.#body.select(headers, reply)
    if (bytes === undefined) return reply.code(304).send()

    return reply.type(this.#type).send(bytes)
  }
}
