import fp from 'fastify-plugin'
import { HttpError } from './errors.ts'

/** 404 for unknown paths, 405 with Allow for unsupported methods. */
export const unknownRoutes = fp(
  (app) => {
    const nothingHere = new HttpError(
      404,
      'not_found',
      'There is nothing at this path'
    )

    // As a hook, because the response must neither depend on a body nor wait
    // for it.
    app.addHook('onRequest', ({ is404, method, url }, _reply, done) => {
      if (!is404) return done()
      // @fastify/cors routes OPTIONS of every path.
      const allow = app.supportedMethods
        .filter(
          (one) => one !== 'OPTIONS' && app.findRoute({ method: one, url })
        )
        .join(', ')
      if (allow === '') return done(nothingHere)

      const message = `This path supports ${allow}, not ${method}`
      done(new HttpError(405, 'method_not_allowed', message, { allow }))
    })
    // For files that the docs page does not have.
    app.setNotFoundHandler(() => {
      throw nothingHere
    })
  },
  { name: 'not-found' }
)
