import type { Reply, Sent } from './handler.ts'
import type { JsonBytes, JsonStream } from './json.ts'

type WrittenJson<Body> = JsonBytes<Body> | JsonStream<Body>

/**
 * The reply of an operation that documents a status with a body. `code` and
 * `send` are properties, because the compiler compares the parameters of
 * methods loosely: it would accept a body of another schema.
 */
export interface JsonReply<Status, Body> extends Pick<Reply<never>, 'header'> {
  code: (status: Status) => { send: (body: WrittenJson<Body>) => Sent }
}

/** Sends JSON that PostgreSQL has written. */
export function sendJson<Status, Body>(
  reply: JsonReply<Status, Body>,
  status: Status,
  body: WrittenJson<Body>
): Sent {
  reply.header('content-type', 'application/json; charset=utf-8')
  return reply.code(status).send(body)
}
