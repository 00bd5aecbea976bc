/**
 * `fetch` that sends a request up to 8 times, until the response is final. A POST gets an Idempotency-Key, the same for each
 * attempt, so that it creates only once.
 */
export async function fetchWithRetries(
  input: string | URL | Request,
  init?: RequestInit
): Promise<Response> {
  const request = new Request(input, init)
  if (request.method === 'POST' && !request.headers.has('Idempotency-Key')) {
    request.headers.set('Idempotency-Key', crypto.randomUUID())
  }
  for (let attempt = 1; ; attempt++) {
    let seconds = 2 ** attempt / 10
    try {
      const response = await fetch(request.clone())
      // Fails if the connection closes before the end of the body.
      await response.clone().arrayBuffer()
      const retryAfter = response.headers.get('Retry-After')
      const { status } = response
      const isFinal =
        retryAfter === null && status < 500 && status !== 408 && status !== 429
      if (isFinal || attempt === 8) return response
      seconds = Math.max(seconds, Number(retryAfter) || 0)
    } catch (error) {
      if (attempt === 8 || request.signal.aborted) throw error
    }
    const jitter = 1 + Math.random() / 2
    await new Promise((resolve) => setTimeout(resolve, seconds * jitter * 1000))
  }
}
