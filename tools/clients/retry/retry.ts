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
    await new Promise((resolve) => setTimeout(resolve, seconds * jitter * 1000))
  }
}

/** Whether sending the request again would not help. */
function isFinal({ status, headers }: Response): boolean {
  const isTemporary = status >= 500 || status === 408 || status === 429
  return !isTemporary && !headers.has('Retry-After')
}
