import type { LoadRequest } from './plan.ts'
import type { Target } from './wrk.ts'

/** Responses of the service, for the bare servers to send. */
export type Recording = Awaited<ReturnType<typeof respond>>[]

/** Headers that node:http adds itself. */
const automatic = ['connection', 'date', 'keep-alive', 'transfer-encoding']

/** Returns the response to the first request of each method. */
export function record({
  url,
  key,
  kind
}: Omit<Target, 'connections'>): Promise<Recording> {
  const firsts = new Map<string, LoadRequest>()
  for (const request of kind.requests)
    if (!firsts.has(request.method)) firsts.set(request.method, request)

  return Promise.all(
    [...firsts.values()].map((request) => respond(url, key, request))
  )
}

async function respond(
  url: string,
  key: string,
  { method, path, headers, body }: LoadRequest
) {
  const response = await fetch(url + path, {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${key}`,
      'accept-encoding': 'identity'
    },
    body: body ?? null
  })
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
  const recorded = [...response.headers].filter(
    ([name]) => !automatic.includes(name)
  )

  return {
    method,
    status: response.status,
    headers: Object.fromEntries(recorded),
    body: await response.text()
  }
}
