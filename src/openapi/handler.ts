import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { HttpError } from '../http/errors.ts'

/** The shape that openapi-typescript gives an operation. */
interface OperationTypes {
  parameters: { path?: unknown; query?: unknown; header?: unknown }
  requestBody?: unknown
  responses: object
}

type Json<Message> = Message extends { content: { 'application/json': infer Body } } ? Body : undefined

type RequestBody<Operation extends OperationTypes> = Operation extends { requestBody: infer Body }
  ? Json<Body>
  : Json<NonNullable<Operation['requestBody']>> | undefined

/** Bodies by status; undefined for a status without one. */
type Replies<Operation extends OperationTypes> = {
  [Status in keyof Operation['responses']]: Json<Operation['responses'][Status]>
}

declare const answered: unique symbol

/** What `send` gives: a handler returns it to show that it answered with a status of the document. */
export interface Answered {
  readonly [answered]: true
}

interface StatusReply<Body> {
  header(name: string, value: string | number): StatusReply<Body>
  send(...body: Body extends undefined ? [] : [body: Body | Buffer | Readable]): Answered
}

/** Fastify's reply, narrowed to the statuses and bodies that the document has for the operation. */
export interface Reply<Bodies> extends Pick<
  FastifyReply,
  'getHeader' | 'getSerializationFunction' | 'log' | 'raw' | 'request'
> {
  header(name: string, value: string | number): Reply<Bodies>
  code<Status extends keyof Bodies>(status: Status): StatusReply<Bodies[Status]>
}

/**
 * The Fastify handler of one operation of the document. The request has passed authentication and validation;
 * int64 is bigint. It answers by `reply.code(status).send(body)`, or throws.
 */
export type Handler<Operation extends OperationTypes> = (
  request: FastifyRequest<{
    Params: Operation['parameters']['path']
    Querystring: Operation['parameters']['query']
    Headers: Operation['parameters']['header']
    Body: RequestBody<Operation>
  }>,
  reply: Reply<Replies<Operation>>
) => Promise<Answered> | Answered

/** The handler of an operation that is documented and not implemented. */
export const notImplemented = (operationId: string) => () => {
  throw new HttpError(501, 'not_implemented', `The operation ${operationId} is not implemented yet`)
}
