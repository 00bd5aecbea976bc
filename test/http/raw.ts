import { requestsInFlight } from '../../src/metrics.ts'

type Headers = Record<string, string | string[] | undefined>

/**
 * The bytes of a request, in latin1. Without `HTTP/` in the first line it is HTTP/1.1. `$KEY` stands for a valid API key. A header
 * with several values is sent several times, an undefined one is not sent.
 */
export function request(line: string, headers: Headers = {}, body?: string | Buffer): string {
  const bytes = Buffer.from(body ?? '')
  const ofBody = { 'Content-Type': 'application/json', 'Content-Length': String(bytes.length) }
  const defaults = {
    Host: 'test',
    Authorization: 'Bearer $KEY',
    Connection: 'close',
    ...(body !== undefined && ofBody)
  }
  const lines = Object.entries({ ...defaults, ...headers }).flatMap(([name, values]) =>
    [values ?? []].flat().map((value) => `${name}: ${value}`)
  )
  return [line.includes('HTTP/') ? line : `${line} HTTP/1.1`, ...lines, '', bytes.toString('latin1')].join('\r\n')
}

/** A request that lists or creates categories and closes its connection. */
export const list = (headers?: Headers) => request('GET /v1/categories', headers)
export const create = (body?: string | Buffer, headers?: Headers) => request('POST /v1/categories', headers, body)

export const bytesOf = (request: string, key: string) => Buffer.from(request.replaceAll('$KEY', key), 'latin1')

/** How many requests have no complete response, if the service has a METRICS_PORT. */
export const inFlight = async () => (await requestsInFlight.get()).values[0]?.value
