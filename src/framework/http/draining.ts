import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyInstance {
    /** Set at shutdown, while requests are still served. */
    isDraining: boolean
  }
}

/**
 * At shutdown, each response closes its connection, so that clients reconnect
 * to another replica. /readyz fails.
 */
export const draining = fp(
  (app) => {
    app.decorate('isDraining', false)
    // Not onRequest: the request may have come before the shutdown.
    app.addHook('onSend', (_request, reply, payload, done) => {
      if (app.isDraining) reply.raw.shouldKeepAlive = false
      done(null, payload)
    })
  },
  { name: 'draining' }
)
