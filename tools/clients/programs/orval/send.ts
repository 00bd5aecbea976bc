import { fetchWithRetries } from './retry.ts'

declare global {
  // Node.js 22 has these, and TypeScript 5 does not know them.
  interface JSON {
    parse(
      text: string,
      reviver: (name: string, value: unknown, at: { source: string }) => unknown
    ): unknown
    rawJSON(text: string): object
  }
  interface BigInt {
    toJSON(): object
  }
}

const { BASE_URL: baseUrl = '', API_KEY: key = '' } = process.env

// The generated functions write a body with JSON.stringify, which rejects a
// bigint without this.
BigInt.prototype.toJSON = function () {
  return JSON.rawJSON(String(this))
}

/** Reads JSON as the generated types have it: an id is an exact bigint. */
const parse = (text: string) =>
  JSON.parse(text, (name, value, { source }) =>
    typeof value === 'number' && /(^i|I)d$/.test(name) ? BigInt(source) : value
  )

/** Sends the request of a generated function, with the key. */
export async function send<T>(path: string, init: RequestInit): Promise<T> {
  const headers = new Headers({
    Authorization: `Bearer ${key}`,
    ...init.headers
  })
  const response = await fetchWithRetries(baseUrl + path, { ...init, headers })
  const text = await response.text()
  const data = text === '' ? undefined : parse(text)

  return { status: response.status, headers: response.headers, data } as T
}
