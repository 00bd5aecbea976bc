import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import findMyWay from 'find-my-way'
import { type HttpError, methodNotAllowed, notFound } from './errors.ts'

/** 404 for paths that do not exist, 405 with Allow for methods that a path does not take; register it before any route. */
export const missing = fp((app, _options: object, done) => {
  // Fastify's own router finds no path without its method: this one has every path under one method, with a path's methods.
  const paths = findMyWay()
  const methodsOf = new Map<string, Set<string>>()

  app.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set()
    if (methods.size === 0) {
      methodsOf.set(url, methods)
      paths.on('GET', url, () => {}, methods)
    }
    for (const one of [method].flat()) methods.add(one)
  })

  function answer(request: FastifyRequest): HttpError {
    const methods = paths.find('GET', request.url)?.store as Set<string> | undefined
    // The method's own route can lead here too: a file of the docs that does not exist.
    return methods === undefined || methods.has(request.method)
      ? notFound()
      : methodNotAllowed(request.method, [...methods].sort())
  }

  // As a hook and not only as the handler: the answer must not depend on a body, nor wait for it.
  app.addHook('onRequest', (request, _reply, next) => next(request.is404 ? answer(request) : undefined))
  app.setNotFoundHandler((request) => {
    throw answer(request)
  })
  done()
})
