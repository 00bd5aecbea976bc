import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'

/** Milliseconds between two requests. */
const pauseMs = 200

interface Mixed {
  path: string
  init?: RequestInit
}

const json = { 'content-type': 'application/json' }
const postRequest = (path: string, body: object, headers = {}): Mixed => ({
  path,
  init: {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { ...json, ...headers }
  }
})

/** What clients do in turn, including mistakes. */
const requests: (() => Mixed)[] = [
  () => ({ path: 'categories' }),
  () => ({ path: 'pets?limit=10' }),
  () => ({ path: 'pets/1' }),
  () => ({ path: 'orders' }),
  () => postRequest('messages', { message: 'x' }),
  () =>
    postRequest(
      'categories',
      { name: 'x' },
      { 'idempotency-key': randomUUID() }
    ),
  () => postRequest('categories', { name: 1 }),
  () => ({ path: 'categories', init: { headers: { authorization: 'x' } } })
]

/** Sends requests of all kinds, one at a time, until it is stopped. */
export function startMix(url: string, key: string) {
  const failures: string[] = []
  let sentCount = 0
  let isStopped = false

  const send = async ({ path, init }: Mixed) => {
    const headers = { authorization: `Bearer ${key}`, ...init?.headers }
    const response = await fetch(`${url}/v1/${path}`, { ...init, headers })
    await response.arrayBuffer()
    if (response.status >= 500) failures.push(`${path} ${response.status}`)
  }

  const work = async () => {
    while (!isStopped) {
      const next = requests[sentCount % requests.length]
      if (next !== undefined) await send(next()).catch(report)
      sentCount++
      await sleep(pauseMs)
    }
  }
  const report = (error: unknown) => {
    failures.push(String(error))
  }
  const working = work()

  return {
    failures,
    get sentCount() {
      return sentCount
    },
    async stop(): Promise<void> {
      isStopped = true
      await working
    }
  }
}
