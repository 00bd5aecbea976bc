import fp from 'fastify-plugin'
import { unavailable } from './errors.ts'

export interface HealthOptions {
  /** Resolves when the service can do its work, throws when it cannot. */
  checkReady: () => Promise<void>
}

/** /livez: the process answers. /readyz: it can do its work too. Neither needs a key; the log has changes alone. */
export const health = fp<HealthOptions>((app, { checkReady }, done) => {
  const config = { quiet: true }
  let wasReady = true
  const log = (isReady: boolean, err?: unknown) => {
    if (isReady && !wasReady) app.log.info('ready')
    if (!isReady && wasReady) app.log.warn({ err }, 'not ready')
    wasReady = isReady
  }
  app.get('/livez', { config }, () => ({ status: 'ok' }))
  app.get('/readyz', { config }, async () => {
    try {
      if (app.isDraining) throw new Error('the service is stopping')
      await checkReady()
    } catch (error) {
      log(false, error)
      throw unavailable()
    }
    log(true)
    return { status: 'ok' }
  })
  done()
})
