import fp from 'fastify-plugin'
import type { ApiDocument } from '../openapi/document.ts'
import { HttpError } from '../errors.ts'

/** Rejects unknown paths with 404, and unsupported methods with 405. */
export const unknownRoutes = fp<{ apiDocument: ApiDocument }>(
  (app, { apiDocument }) => {
    const nothingHere = new HttpError(
      404,
      'not_found',
      'There is nothing at this path: ' +
        `/docs shows the operations, below ${apiDocument.basePath}/`
    )

    // This is a hook, because the response must neither depend on a body nor
    // wait for it.
    app.addHook('onRequest', ({ is404, method, url }, _reply, done) => {
      if (!is404) return done()
      // @fastify/cors routes OPTIONS of every path.
      const allow = app.supportedMethods
        .filter(
          (name) => name !== 'OPTIONS' && app.findRoute({ method: name, url })
        )
        .join(', ')
      if (allow === '') return done(nothingHere)

      done(
        new HttpError(
          405,
          'method_not_allowed',
          `This path supports ${allow}, not ${method}`,
          { allow }
        )
      )
    })
    // The docs page calls it for a file that it does not have.
    app.setNotFoundHandler(() => {
      throw nothingHere
    })
  },
  { name: 'unknown-routes' }
)
