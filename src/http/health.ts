import fp from 'fastify-plugin'
import { outage } from '../outage.ts'
import { unavailable } from './errors.ts'

export interface HealthOptions {
  /** Resolves when the service can do its work, throws when it cannot. */
  checkReady: () => Promise<void>
}

/** /livez: the process answers. /readyz: it can do its work too. Neither needs a key; the log has changes alone. */
export const health = fp<HealthOptions>((app, { checkReady }, done) => {
  const config = { quiet: true }
  const unreadiness = outage({
    begun: (err) => app.log.warn({ err }, 'not ready'),
    ended: () => app.log.info('ready')
  })
  app.get('/livez', { config }, () => ({ status: 'ok' }))
  app.get('/readyz', { config }, async () => {
    try {
      if (app.isDraining) throw new Error('the service is stopping')
      await checkReady()
    } catch (error) {
      unreadiness.begun(error)
      throw unavailable()
    }
    unreadiness.ended()
    return { status: 'ok' }
  })
  done()
})
