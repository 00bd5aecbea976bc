import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { HttpError } from './errors.ts'

/**
 * The target of OPTIONS * (RFC 9112, section 3.2.4). The router takes it for /.
 */
const notAPath = '*'

/** 404 for unknown paths, 405 with Allow for unsupported methods. */
export const unknownRoutes = fp(
  (app) => {
    // As a hook, because the response must neither depend on a body nor wait
    // for it.
    app.addHook('onRequest', ({ is404, method, url }, _reply, done) => {
      if (url === notAPath) return done(nothingHere())
      if (!is404) return done()
      const methods = methodsOf(app, url)
      if (methods.length === 0) return done(nothingHere())
      done(methodNotAllowed(method, methods.join(', ')))
    })
    // For files that the docs page does not have.
    app.setNotFoundHandler(() => {
      throw nothingHere()
    })
  },
  { name: 'not-found', dependencies: ['valid-http'] }
)

/** The methods of a path. @fastify/cors routes OPTIONS of every path. */
function methodsOf(app: FastifyInstance, url: string): string[] {
  return app.supportedMethods
    .filter((method) => method !== 'OPTIONS' && app.findRoute({ method, url }))
    .sort()
}

const nothingHere = () =>
  new HttpError(404, 'not_found', 'There is nothing at this path')

const methodNotAllowed = (method: string, allow: string) =>
  new HttpError(
    405,
    'method_not_allowed',
    `This path supports ${allow}, not ${method}`,
    { allow }
  )
