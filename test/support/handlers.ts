import type { RouteHandlerMethod } from 'fastify'

/**
 * The handler of an operation, for a route of a test. Fastify's own types do
 * not know what the OpenAPI document promises of a request.
 */
export const asHandler = (handler: (...parameters: never[]) => unknown) =>
  handler as RouteHandlerMethod
