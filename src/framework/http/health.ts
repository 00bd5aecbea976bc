import fp from 'fastify-plugin'
import { unavailable } from '../errors.ts'

/**
 * /livez: the process responds. /readyz: it can also serve requests. Neither
 * needs an API key. Only changes of /readyz are logged.
 *
 * @param checkReady throws while the service cannot serve requests
 */
export const health = fp<{ checkReady: () => Promise<void> }>(
  (app, { checkReady }) => {
    let isReady = true

    app.get('/livez', () => ({ status: 'ok' }))

    app.get('/readyz', async () => {
      try {
        if (app.isDraining) throw new Error('the service is stopping')
        await checkReady()
      } catch (error) {
        if (isReady) app.log.warn({ err: error }, 'not ready')
        isReady = false
        app.metrics.ready.set(0)
        throw unavailable
      }

      if (!isReady) app.log.info('ready')
      isReady = true
      app.metrics.ready.set(1)

      return { status: 'ok' }
    })
  },
  { name: 'health' }
)
