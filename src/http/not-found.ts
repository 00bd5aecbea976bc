import fp from 'fastify-plugin'
import { HttpError } from './errors.ts'

const nothingHere = () => new HttpError(404, 'not_found', 'There is nothing at this path')

/** 404 for unknown paths, 405 with Allow for methods that a path does not support. */
export const notFound = fp((app) => {
  // As a hook, because the response must neither depend on a body nor wait for it.
  app.addHook('onRequest', ({ is404, method, url }, _reply, next) => {
    if (!is404) return next()
    // @fastify/cors routes OPTIONS of every path.
    const methods = app.supportedMethods.filter((one) => one !== 'OPTIONS' && app.findRoute({ method: one, url }))
    if (methods.length === 0) return next(nothingHere())
    const allow = methods.sort().join(', ')
    next(new HttpError(405, 'method_not_allowed', `This path supports ${allow}, not ${method}`, { allow }))
  })
  // For files that the docs page does not have.
  app.setNotFoundHandler(() => {
    throw nothingHere()
  })
})
