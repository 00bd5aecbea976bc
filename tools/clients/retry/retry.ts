/** A request is sent so often, at most. */
const attempts = 8

/**
 * `fetch` that sends a request up to 8 times, until the response is final. A
 * POST gets an Idempotency-Key, the same for each attempt, so that it creates
 * only once.
 */
export async function fetchWithRetries(
  input: string | URL | Request,
  init?: RequestInit
): Promise<Response> {
  const request = new Request(input, init)
  if (request.method === 'POST' && !request.headers.has('Idempotency-Key'))
    request.headers.set('Idempotency-Key', crypto.randomUUID())

  for (let attempt = 1; ; attempt++) {
    let seconds = 2 ** attempt / 10
    try {
      const response = await fetch(request.clone())
      // Fails if the connection closes before the end of the body.
      await response.clone().arrayBuffer()
      if (isFinal(response) || attempt === attempts) return response
      const retryAfter = Number(response.headers.get('Retry-After'))
      seconds = Math.max(seconds, retryAfter || 0)
    } catch (error) {
      if (attempt === attempts || request.signal.aborted) throw error
    }
    const jitter = 1 + Math.random() / 2
    await pause(seconds * jitter * 1000, request.signal)
  }
}

/** Whether sending the request again would not help. */
function isFinal({ status, headers }: Response): boolean {
  const isTemporary = [408, 429, 500, 502, 503, 504].includes(status)
  return !isTemporary && !headers.has('Retry-After')
}

/** Ends at once when the request is aborted: then, `fetch` rejects. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal.addEventListener('abort', end)
  })
}
