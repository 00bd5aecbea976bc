import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RawJson } from './json.ts'

/** The shape that openapi-typescript gives an operation. */
interface OperationTypes {
  parameters: { path?: unknown; query?: unknown; header?: unknown }
  requestBody?: { content: { 'application/json': unknown } }
  responses: object
}

type Json<Message> = Message extends {
  content: { 'application/json': infer Body }
}
  ? Body
  : undefined

/** Node.js gives the names of headers in lower case. */
type LowerCase<Headers> = {
  [Name in keyof Headers as Lowercase<Name & string>]: Headers[Name]
}

/**
 * What `send` returns. A handler returns it as proof that it sent a documented
 * response.
 */
export type Sent = Pick<FastifyReply, 'sent'>

/**
 * Fastify's reply, narrowed to the documented statuses and their bodies. The
 * body of a status without one is `undefined`.
 */
export interface Reply<Bodies> extends Pick<FastifyReply, 'raw'> {
  header(name: string, value: string | number): this
  code<Status extends keyof Bodies>(
    status: Status
  ): {
    send(
      ...body: Bodies[Status] extends undefined
        ? []
        : [body: Bodies[Status] | RawJson<Bodies[Status]>]
    ): Sent
  }
}

/**
 * The handler of one operation. The request is authenticated and valid, and an
 * int64 is a bigint. The handler responds with `reply.code(status).send(body)`,
 * or throws.
 */
export type Handler<Operation extends OperationTypes> = (
  request: FastifyRequest<{
    Params: Operation['parameters']['path']
    Querystring: NonNullable<Operation['parameters']['query']>
    Headers: LowerCase<NonNullable<Operation['parameters']['header']>>
    Body: Json<Operation['requestBody']>
  }>,
  reply: Reply<{
    [Status in keyof Operation['responses']]: Json<
      Operation['responses'][Status]
    >
  }>
) => Promise<Sent> | Sent

/**
 * What `sendJson` needs of a `Reply`: one status, with a body. `code` and
 * `send` are properties, because the compiler compares the parameters of
 * methods loosely: it would accept the reply of another schema.
 */
export interface JsonReply<Status, Body> extends Pick<FastifyReply, 'raw'> {
  header: (name: string, value: string) => unknown
  code: (status: Status) => { send: (body: RawJson<Body>) => Sent }
}

/** Sends JSON that PostgreSQL has written. */
export function sendJson<Status, Body>(
  reply: JsonReply<Status, NoInfer<Body>>,
  status: Status,
  body: RawJson<Body>
): Sent {
  reply.header('content-type', 'application/json; charset=utf-8')
  return reply.code(status).send(body)
}
