import type { Recording } from '../record.ts'

const none = { status: 200, headers: {}, body: Buffer.alloc(0) }

/**
 * What the bare servers send: the bytes and headers of the service, which the
 * benchmark recorded.
 */
export const responses = { GET: none, POST: none }

process.on('message', (message: Recording | string) => {
  if (typeof message === 'string') return
  for (const { method, body, ...rest } of message)
    responses[method] = { ...rest, body: Buffer.from(body) }
})
