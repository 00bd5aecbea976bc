import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import type { Server } from './servers.ts'

/** What the service took to send a very long list to many clients at once, some of them slow. */
export interface BigList {
  rows: number
  clients: number
  slowClients: number
  /** Bytes of one list. */
  size: number
  /** Seconds until all but the slow clients had it. */
  seconds: number
  /** Bytes: resident before, at most during, and after all clients had left. */
  rss: { before: number; peak: number; after: number }
  /** Milliseconds. */
  longestStall: number
}

const clients = 100
const slowClients = 30

/** Lists `rows` categories, which the table holds, for 100 clients at once; 30 of them take 3 MB/s at most. */
export async function measureBigList(server: Server, key: string, rows: number): Promise<BigList> {
  server.watch()
  const { rss: before } = await server.usage()
  const startedAt = performance.now()
  const slow = Array.from({ length: slowClients }, () => open(server.url, key).then(readSlowly))
  const sizes = await Promise.all(
    Array.from({ length: clients - slowClients }, () => open(server.url, key).then(readAll))
  )
  const seconds = (performance.now() - startedAt) / 1000
  const { peak, longestStall } = await server.usage()
  for (const response of await Promise.all(slow)) response.destroy()
  await setTimeout(2000)
  const { rss: after } = await server.usage()
  return { rows, clients, slowClients, size: Math.min(...sizes), seconds, rss: { before, peak, after }, longestStall }
}

async function open(url: string, key: string): Promise<IncomingMessage> {
  const request = get(url, { agent: false, headers: { authorization: `Bearer ${key}` } })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response.on('error', () => {})
}

/** Reads to the end, which a list has that was not cut off, and gives the number of bytes. */
async function readAll(response: IncomingMessage): Promise<number> {
  let size = 0
  for await (const chunk of response) size += (chunk as Buffer).length
  if (response.statusCode !== 200 || !response.complete) throw new Error('a long list was not sent to its end')
  return size
}

function readSlowly(response: IncomingMessage): IncomingMessage {
  return response.on('data', () => {
    response.pause()
    void setTimeout(20).then(() => response.resume())
  })
}
