import fp from 'fastify-plugin'
import { outages } from '../outage.ts'
import { Unavailable } from '../postgres/errors.ts'

/**
 * /livez: the process responds. /readyz: it can also serve requests. Neither needs a key. Only changes of readiness are logged.
 *
 * @param checkReady throws while the service cannot serve requests
 */
export const health = fp<{ checkReady: () => Promise<void> }>((app, { checkReady }) => {
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
      throw new Unavailable(error)
    }
    unreadiness.ended('ready')
    return { status: 'ok' }
  })
})
