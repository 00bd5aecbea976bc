import type { FastifyReply, FastifyRequest, RouteHandler } from 'fastify'
import { LRUCache } from 'lru-cache'
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

/** Deployments are known by few names. Anybody can send another Host. */
const maxOrigins = 10

/** Handles requests for a text, with its deployment in place of `origin`. */
export function sendWithOrigin(type: string, text: string, origin: string) {
  const files = new LRUCache<string, PageFile>({
    max: maxOrigins,
    memoMethod: (own) => new PageFile(type, text.replaceAll(origin, own))
  })

  return ((request, reply) => {
    const own = `${request.protocol}://${request.host}`
    // Without characters that have a meaning in HTML, JSON or a shell.
    const isPlain = /^https?:\/\/[\w.:[\]-]+$/.test(own)
    return files.memo(isPlain ? own : origin).send(request, reply)
  }) satisfies RouteHandler
}
