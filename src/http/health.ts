import fp from 'fastify-plugin'
import { unavailable } from './errors.ts'

export interface HealthOptions {
  /** Resolves when the service can do its work, throws when it cannot. */
  checkReady: () => Promise<void>
}

/** /livez: the process answers. /readyz: it can do its work too. Neither needs a key. */
export const health = fp<HealthOptions>((app, { checkReady }, done) => {
  const config = { quiet: true }
  app.get('/livez', { config }, () => ({ status: 'ok' }))
  app.get('/readyz', { config }, async () => {
    try {
      await checkReady()
    } catch (error) {
      throw unavailable(error)
    }
    return { status: 'ok' }
  })
  done()
})
