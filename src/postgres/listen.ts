import { setTimeout } from 'node:timers/promises'
import pg from 'pg'

/** Milliseconds between two attempts to connect. */
const retryAfter = 1000

/**
 * Calls `notify` for every notification on the channel, on a separate connection that is reopened when it is lost; and
 * after each connecting, as something may have been missed. A network that swallows it all is not noticed here: what
 * depends on notifications must not depend on them alone.
 *
 * @returns the way to stop
 */
export function listen(config: pg.ClientConfig, channel: string, notify: () => void): () => Promise<void> {
  const stopping = new AbortController()
  const { signal } = stopping
  let client: pg.Client
  const listening = (async () => {
    while (!signal.aborted) {
      client = new pg.Client(config)
      const ended = new Promise<void>((resolve) => client.once('end', resolve))
      // It ends then, which is what we look at.
      client.on('error', () => {})
      client.on('notification', notify)
      try {
        // pg forgets the promise of a connection that is ended while it is made.
        await Promise.race([client.connect(), ended])
        await client.query(`LISTEN ${channel}`)
        notify()
        await ended
      } catch {
        await client.end()
      }
      await setTimeout(retryAfter, undefined, { signal }).catch(() => {})
    }
  })()
  return async () => {
    stopping.abort()
    await client.end()
    await listening
  }
}
