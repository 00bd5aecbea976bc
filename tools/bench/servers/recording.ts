import type { Recording } from '../load.ts'

const none = { status: 200, headers: {}, body: Buffer.alloc(0) }

/** What the bare servers send: the bytes and headers of the service, which the benchmark recorded. */
export const responses = { GET: none, POST: none }

process.on('message', (message: Recording | string) => {
  if (typeof message === 'string') return
  responses.GET = { status: 200, headers: message.GET.headers, body: Buffer.from(message.GET.body) }
  responses.POST = { status: 201, headers: message.POST.headers, body: Buffer.from(message.POST.body) }
})
