import type { FastifyReply, FastifyRequest } from 'fastify'
import type { RawJson } from '../postgres/json.ts'

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

/** The body of the success that the operation documents, if it has one. */
type Success<Responses> = Json<
  Responses[keyof Responses & (200 | 201 | 202 | 204)]
>

/** Node.js gives the names of headers in lower case. */
type LowerCase<Headers> = {
  [Name in keyof Headers as Lowercase<Name & string>]: Headers[Name]
}

/**
 * The handler of one operation. The request is authenticated and valid. The
 * handler returns the body of the documented success, whose status is set;
 * throws an HttpError; or returns the reply with which it sent another status.
 */
export type Handler<Operation extends OperationTypes> = (
  request: FastifyRequest<{
    Params: Operation['parameters']['path']
    Querystring: NonNullable<Operation['parameters']['query']>
    Headers: LowerCase<NonNullable<Operation['parameters']['header']>>
    Body: Json<Operation['requestBody']>
  }>,
  reply: FastifyReply
) => Promise<
  | Success<Operation['responses']>
  | RawJson<Success<Operation['responses']>>
  | FastifyReply
>
