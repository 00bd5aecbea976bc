import type { FastifyReply } from 'fastify'
import type { Sent } from './handler.ts'
import type { JsonBytes } from './json.ts'

/**
 * The reply of an operation that documents a status with a body. `code` and
 * `send` are properties, because the compiler compares the parameters of
 * methods loosely: it would accept a body of another schema.
 */
export interface JsonReply<Status, Body> extends Pick<FastifyReply, 'raw'> {
  header: (name: string, value: string) => unknown
  code: (status: Status) => { send: (body: JsonBytes<Body>) => Sent }
}

/** Sends JSON that PostgreSQL has written. */
export function sendJson<Status, Body>(
  reply: JsonReply<Status, NoInfer<Body>>,
  status: Status,
  body: JsonBytes<Body>
): Sent {
  reply.header('content-type', 'application/json; charset=utf-8')
  return reply.code(status).send(body)
}
