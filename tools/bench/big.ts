import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Server } from './servers.ts'

/** How the service sent a very long list to many clients together. */
export type BigList = Awaited<ReturnType<typeof measureBigList>>

const clients = 100
const slowClients = 30

/**
 * Lists the `rows` categories of the table for 100 clients together, 30 of
 * which read at most 3 MB/s.
 */
export async function measureBigList(
  server: Server,
  key: string,
  rows: number
) {
  server.watch()
  const { rss: before } = await server.usage()
  const startedAt = performance.now()
  const slow = Array.from({ length: slowClients }, () =>
    open(server.url, key).then(readSlowly)
  )
  const sizes = await Promise.all(
    Array.from({ length: clients - slowClients }, () =>
      open(server.url, key).then(readAll)
    )
  )
  const seconds = (performance.now() - startedAt) / 1000
  const { peak, longestStall } = await server.usage()
  for (const response of await Promise.all(slow)) response.destroy()
  await sleep(2000)
  const { rss: after } = await server.usage()

  return {
    rows,
    clients,
    slowClients,
    size: Math.min(...sizes),
    seconds,
    rss: { before, peak, after },
    longestStall
  }
}

async function open(url: string, key: string): Promise<IncomingMessage> {
  const request = get(`${url}/categories`, {
    agent: false,
    headers: { authorization: `Bearer ${key}` }
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]

  return response.on('error', () => {})
}

/** Returns the size of a complete response in bytes. */
async function readAll(response: IncomingMessage): Promise<number> {
  let size = 0
  for await (const chunk of response) size += (chunk as Buffer).length
  if (response.statusCode !== 200 || !response.complete)
    throw new Error('a long list was incomplete')

  return size
}

function readSlowly(response: IncomingMessage): IncomingMessage {
  return response.on('data', () => {
    response.pause()
    setTimeout(() => response.resume(), 20)
  })
}
