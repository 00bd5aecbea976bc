import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/**
 * Calls `notify` for every notification on the channel and after each connection, since one may have been missed, until
 * the signal is aborted. A silent network is not noticed: callers must not depend on notifications alone.
 */
export async function listen(
  config: pg.ClientConfig,
  channel: string,
  notify: () => void,
  signal: AbortSignal
): Promise<void> {
  while (!signal.aborted) {
    const client = new pg.Client({ ...config, stream: () => new Socket({ signal }) })
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    client.on('error', () => {})
    client.on('notification', notify)
    try {
      await client.connect()
      await client.query(`LISTEN ${channel}`)
      notify()
      await ended
    } catch {
      await client.end()
    }
    await sleep(1000, undefined, { signal }).catch(() => {})
  }
}
