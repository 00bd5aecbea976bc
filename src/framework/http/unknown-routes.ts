import fp from 'fastify-plugin'
import { closestMatch } from 'leven'
import type { ApiDocument } from '../openapi/document.ts'
import { HttpError } from './errors.ts'

/** Rejects unknown paths with 404, and unsupported methods with 405. */
export const unknownRoutes = fp<{ apiDocument: ApiDocument }>(
  (app, { apiDocument }) => {
    const nothingAt = unknownPathError(apiDocument)

    // This is a hook, because the response must neither depend on a body nor
    // wait for it.
    app.addHook('onRequest', ({ is404, method, url }, _reply, done) => {
      if (!is404) return done()
      // @fastify/cors routes OPTIONS of every path.
      const allow = app.supportedMethods
        .filter(
          (one) => one !== 'OPTIONS' && app.findRoute({ method: one, url })
        )
        .join(', ')
      if (allow === '') return done(nothingAt(url))

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
    app.setNotFoundHandler(({ url }) => {
      throw nothingAt(url)
    })
  },
  { name: 'unknown-routes' }
)

/** The 404 names the documented path that ends most like the unknown one. */
function unknownPathError({ basePath, operations }: ApiDocument) {
  const pathsByEnd = new Map([['openapi', '/openapi.yaml']])
  for (const { path } of operations)
    pathsByEnd.set(endOf(path), basePath + path)

  return (url: string): HttpError => {
    const end = endOf(url)
    const length = end.search(/$|\//)
    // One letter of /dogs may differ, and three of /category: no hint is better
    // than a wrong one.
    const maxDistance = Math.floor((length * 3) / 8)
    const known = closestMatch(end, [...pathsByEnd.keys()], { maxDistance })
    const hint =
      known === undefined
        ? `/docs shows the operations, below ${basePath}/`
        : `did you mean ${pathsByEnd.get(known)}?`
    return new HttpError(
      404,
      'not_found',
      `There is nothing at this path: ${hint}`
    )
  }
}

/** The last word of a path and the ids behind it: `pets/{}` of `/v1/pets/7`. */
function endOf(url: string): string {
  const path = url.toLowerCase().replace(/(\.\w+)?\/?(\?.*)?$/, '')
  // Each id has a digit, also a UUID.
  const isId = (part: string) => /[{\d]/.test(part)
  const parts = path.split('/').map((part) => (isId(part) ? '{}' : part))
  return parts.slice(parts.findLastIndex((part) => part !== '{}')).join('/')
}
