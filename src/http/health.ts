import fp from 'fastify-plugin'
import { unavailable } from './errors.ts'

export interface HealthOptions {
  /** Resolves when the service can do its work, throws when it cannot. */
  checkReady: () => Promise<void>
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Has /readyz fail from now on, so that nobody sends new work here. */
    endReadiness: () => void
  }
}

/** /livez: the process answers. /readyz: it can do its work too. Neither needs a key. */
export const health = fp<HealthOptions>((app, { checkReady }, done) => {
  const config = { quiet: true }
  let hasEnded = false
  app.decorate('endReadiness', () => {
    hasEnded = true
  })
  app.get('/livez', { config }, () => ({ status: 'ok' }))
  app.get('/readyz', { config }, async () => {
    try {
      if (hasEnded) throw new Error('the service is stopping')
      await checkReady()
    } catch (error) {
      throw unavailable(error)
    }
    return { status: 'ok' }
  })
  done()
})
