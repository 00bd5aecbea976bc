import fp from 'fastify-plugin'
import { outages } from '../log.ts'
import { unavailable } from './errors.ts'

export interface HealthOptions {
  /** Resolves when the service can do its work, throws when it cannot. */
  checkReady: () => Promise<void>
}

/** /livez: the process responds. /readyz: it can do its work too. Neither needs a key; only changes are logged. */
export const health = fp<HealthOptions>((app, { checkReady }, done) => {
  const config = { quiet: true }
  const unreadiness = outages({
    quiet: 0,
    begun: (what, err) => app.log.warn({ err }, `not ${what}`),
    ended: (what) => app.log.info(what)
  })
  app.get('/livez', { config }, () => ({ status: 'ok' }))
  app.get('/readyz', { config }, async () => {
    try {
      if (app.isDraining) throw new Error('the service is stopping')
      await checkReady()
    } catch (error) {
      unreadiness.begun('ready', error)
      throw unavailable()
    }
    unreadiness.ended('ready')
    return { status: 'ok' }
  })
  done()
})
