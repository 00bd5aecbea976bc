import fp from 'fastify-plugin'
import { HttpError } from '../errors.ts'
import { routeNotFoundError } from './error-responses.ts'

/** Rejects unknown paths with 404, and unsupported methods with 405. */
export const unknownRoutes = fp(
  (app) => {
    // A hook, because the response must neither depend on a body nor wait for
    // it.
    app.addHook('onRequest', ({ is404, method, url }, _reply, done) => {
      if (!is404) return done()
      // @fastify/cors routes OPTIONS of every path.
      const allow = app.supportedMethods
        .filter(
          (name) => name !== 'OPTIONS' && app.findRoute({ method: name, url })
        )
        .join(', ')
      if (allow === '') return done(routeNotFoundError)

      const message = `This path supports ${allow}, not ${method}`
      done(new HttpError(405, 'method_not_allowed', message, { allow }))
    })
    // Swagger UI calls it for a file that it does not have.
    app.setNotFoundHandler(() => {
      throw routeNotFoundError
    })
  },
  { name: 'unknown-routes' }
)
