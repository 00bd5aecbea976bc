import type { FastifyReply, FastifyRequest } from 'fastify'

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

/** Exists for the compiler only. */
declare const schema: unique symbol

/**
 * A body that is JSON already, such as PostgreSQL has written. The compiler
 * knows its schema, and rejects JSON of another one, as in
 * `listCategories: async () => jsonOfPets`, although a pet has all that a category
 * requires: the function makes the type invariant.
 */
export type SerializedJson<Schema> = (Buffer | string) & {
  readonly [schema]: (value: Schema) => Schema
}

/** The body of the success that the operation documents, if it has one. */
type Success<Responses> = Json<
  Responses[keyof Responses & (200 | 201 | 202 | 204)]
>

/** Node.js gives the names of headers in lower case. */
type LowercaseKeys<Headers> = {
  [Name in keyof Headers as Lowercase<Name & string>]: Headers[Name]
}

/**
 * The handler of one operation. The request is authenticated and valid. The
 * handler returns the body of the documented success, whose status is set;
 * throws an HttpError; or returns the reply with which it sent another status.
 */
export type OperationHandler<Operation extends OperationTypes> = (
  request: FastifyRequest<{
    Params: Operation['parameters']['path']
    Querystring: NonNullable<Operation['parameters']['query']>
    Headers: LowercaseKeys<NonNullable<Operation['parameters']['header']>>
    Body: Json<Operation['requestBody']>
  }>,
  reply: FastifyReply
) => Promise<
  | Success<Operation['responses']>
  | SerializedJson<Success<Operation['responses']>>
  | FastifyReply
>
