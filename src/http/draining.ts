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
    app.addHook('onRequest', (_request, reply, done) => {
      if (app.isDraining) reply.raw.shouldKeepAlive = false
      done()
    })
  },
  { name: 'draining' }
)
