import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { HttpError } from './errors.ts'

/** 404 for unknown paths, 405 with Allow for methods that a path does not support. */
export const notFound = fp((app) => {
  function errorFor({ method, url }: FastifyRequest): HttpError {
    // @fastify/cors routes OPTIONS of every path.
    const methods = app.supportedMethods.filter((one) => one !== 'OPTIONS')
    const allowed = methods.filter((one) => app.findRoute({ method: one, url }) !== null)
    // A route that matches also leads here, when the docs page has no such file.
    if (allowed.length === 0 || allowed.includes(method)) {
      return new HttpError(404, 'not_found', 'There is nothing at this path')
    }
    const allow = allowed.sort().join(', ')
    return new HttpError(405, 'method_not_allowed', `This path supports ${allow}, not ${method}`, { allow })
  }

  // Also as a hook: the response must neither depend on a body nor wait for it.
  app.addHook('onRequest', (request, _reply, next) => next(request.is404 ? errorFor(request) : undefined))
  app.setNotFoundHandler((request) => {
    throw errorFor(request)
  })
})
