/**
 * The headers of every response, unless its route overrides them. HSTS is left
 * to the proxy that terminates TLS.
 */
export const defaultHeaders = (id: string) => ({
  'x-request-id': id,
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff'
})
