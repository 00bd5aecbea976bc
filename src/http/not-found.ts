import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import findMyWay from 'find-my-way'
import { HttpError } from './errors.ts'

/** 404 for unknown paths, 405 with Allow for methods that a path does not support. Register it before any route. */
export const notFound = fp((app) => {
  // Fastify does not expose its own router.
  const router = findMyWay()
  app.addHook('onRoute', ({ method, url }) => router.on(method as 'GET', url, () => {}))

  function errorFor({ method, url }: FastifyRequest): HttpError {
    const allowed = app.supportedMethods.filter((one) => router.find(one as 'GET', url) !== null)
    // The method's own route also leads here, for a file that the docs do not have.
    if (allowed.length === 0 || allowed.includes(method)) {
      return new HttpError(404, 'not_found', 'There is nothing at this path')
    }
    const allow = allowed.sort().join(', ')
    return new HttpError(405, 'method_not_allowed', `This path supports ${allow}, not ${method}`, { allow })
  }

  // As a hook too: the response must neither depend on a body nor wait for it.
  app.addHook('onRequest', (request, _reply, next) => next(request.is404 ? errorFor(request) : undefined))
  app.setNotFoundHandler((request) => {
    throw errorFor(request)
  })
})
