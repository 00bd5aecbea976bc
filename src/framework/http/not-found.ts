import fp from 'fastify-plugin'
import type { ApiDocument } from '../openapi/document.ts'
import { HttpError } from './errors.ts'

/** 404 for unknown paths, 405 with Allow for unsupported methods. */
export const unknownRoutes = fp<{ apiDocument: ApiDocument }>(
  (app, { apiDocument }) => {
    const hintFor = hints(apiDocument)
    const nothingAt = (url: string) =>
      new HttpError(
        404,
        'not_found',
        `There is nothing at this path: ${hintFor(url)}`
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
      if (allow === '') return done(nothingAt(url))

      const message = `This path supports ${allow}, not ${method}`
      done(new HttpError(405, 'method_not_allowed', message, { allow }))
    })
    // For files that the docs page does not have.
    app.setNotFoundHandler(({ url }) => {
      throw nothingAt(url)
    })
  },
  { name: 'not-found' }
)

/** Names the documented path that ends like an unknown one. */
function hints({ basePath, operations }: ApiDocument) {
  const paths = operations.map(({ path }) => basePath + path)
  const ends = ['/docs', '/openapi.yaml', ...paths].map((path) => {
    const end = path
      .replace(/^.*(?=\/[^/{]+(\/\{\w+\})*$)/, '')
      .replaceAll(/\{\w+\}/g, '[^/?]+')
    return { path, end: new RegExp(`^[^?]*${end}/?(\\?|$)`, 'i') }
  })

  return (url: string): string => {
    const meant = ends.find(({ end }) => end.test(url))
    return meant === undefined
      ? `/docs shows the operations, below ${basePath}/`
      : `did you mean ${meant.path}?`
  }
}
