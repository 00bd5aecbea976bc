// Serves OpenAPI documents that tests write: see operationRoutes.
import { join } from 'node:path'
import Fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type InjectOptions
} from 'fastify'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { sendError } from '../../../src/framework/http/error-responses.ts'
import {
  type ApiDocument,
  readApiDocument
} from '../../../src/framework/openapi/document.ts'
import { operationRoutes } from '../../../src/framework/openapi/routes.ts'

/** The content of a response or request with this schema. */
export const jsonOf = (schema: object) => ({
  content: { 'application/json': { schema } }
})

/** The responses of an operation whose handler returns any object. */
export const anything = {
  200: {
    description: 'OK',
    ...jsonOf({ type: 'object', additionalProperties: { type: 'string' } })
  }
}

/** A path with an operation that creates something. */
export const pathWithPost = (operationId: string, rest = {}) => ({
  post: {
    operationId,
    requestBody: { required: true, ...jsonOf({ type: 'object' }) },
    responses: anything,
    ...rest
  }
})

/** Starts an app with the operations of an OpenAPI document. */
export async function start(
  t: Test,
  apiDocument: ApiDocument,
  handlers: object
): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  app.setErrorHandler(sendError)
  await app.register(operationRoutes, {
    apiDocument,
    handlers,
    securityHooks: { bearerAuth: () => (_request, _reply, done) => done() }
  })

  return app
}

/** Reads an OpenAPI document with these paths. */
export function documentOf(
  t: Test,
  paths: object,
  rest: object = {}
): ApiDocument {
  const yaml = stringify({
    openapi: '3.0.3',
    info: { title: 'Test', version: '1.0.0' },
    servers: [{ url: '/v1' }],
    paths,
    ...rest
  })
  const folder = t.testdir({ 'openapi.yaml': yaml })

  return readApiDocument(join(folder, 'openapi.yaml'))
}

/**
 * Serves an OpenAPI document with these paths, whose operations all have this
 * handler.
 */
export function serve(
  t: Test,
  paths: object,
  respond: (request: FastifyRequest, reply: FastifyReply) => unknown,
  rest: object = {}
): Promise<FastifyInstance> {
  const apiDocument = documentOf(t, paths, rest)
  const handlers = apiDocument.operations.map(({ id }) => [id, respond])
  return start(t, apiDocument, Object.fromEntries(handlers) as object)
}

/** A response that shows a value, with an n behind each bigint. */
export const show = (value: unknown) => ({
  value: JSON.stringify(value, (_key, one: unknown) =>
    typeof one === 'bigint' ? `${one}n` : one
  )
})

/**
 * Returns the value that the handler has shown, or the message of the error.
 */
export async function send(
  app: FastifyInstance,
  request: InjectOptions
): Promise<unknown> {
  const response = await app.inject(request)
  const body = response.json<{ value?: string; message?: string }>()
  return body.value === undefined ? body.message : JSON.parse(body.value)
}

export const int64 = { type: 'integer', format: 'int64' }

export const maxInt64 = 2n ** 63n - 1n

/** What an int64 must be. */
export const range =
  'must be an integer from -9223372036854775808 to 9223372036854775807'
