import fp from 'fastify-plugin'
import { badRequest, HttpError } from './errors.ts'

/** The characters of RFC 3986, section 3.2.2. Node.js joins repeated Host headers by a comma and a space. */
const validHost = /^[\w.~%!$&'()*+,;=:[\]-]*$/

const nothingHere = () =>
  new HttpError(404, 'not_found', 'There is nothing at this path')

/** 400 without one valid Host (RFC 9112, section 3.2), 404 for unknown paths, 405 with Allow for unsupported methods. */
export const requestTarget = fp((app) => {
  // As a hook, because the response must neither depend on a body nor wait for it.
  app.addHook(
    'onRequest',
    ({ is404, method, url, raw: { headers, httpVersion } }, _reply, next) => {
      const isValid =
        headers.host === undefined
          ? httpVersion === '1.0'
          : validHost.test(headers.host)
      if (!isValid)
        return next(badRequest('The request must have one valid Host header'))
      if (!is404) return next()
      // @fastify/cors routes OPTIONS of every path.
      const methods = app.supportedMethods.filter(
        (one) => one !== 'OPTIONS' && app.findRoute({ method: one, url })
      )
      if (methods.length === 0) return next(nothingHere())
      const allow = methods.sort().join(', ')
      next(
        new HttpError(
          405,
          'method_not_allowed',
          `This path supports ${allow}, not ${method}`,
          { allow }
        )
      )
    }
  )
  // For files that the docs page does not have.
  app.setNotFoundHandler(() => {
    throw nothingHere()
  })
})
