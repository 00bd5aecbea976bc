import { isLosslessNumber, parse } from 'lossless-json'
import { fetchWithRetries } from './retry.ts'

const { BASE_URL: baseUrl = '', API_KEY: key = '' } = process.env

declare global {
  interface JSON {
    rawJSON(text: string): object
  }
  interface BigInt {
    toJSON(): object
  }
}

// The generated functions write a body with JSON.stringify, which rejects a
// bigint without this.
BigInt.prototype.toJSON = function () {
  return JSON.rawJSON(String(this))
}

/** Numbers as the generated types have them: an id is an exact bigint. */
function toNumber(name: string, value: unknown): unknown {
  if (!isLosslessNumber(value)) return value
  return /(^i|I)d$/.test(name) ? BigInt(value.value) : Number(value.value)
}

/** Sends the request of a generated function, with the key. */
export async function send<T>(path: string, init: RequestInit): Promise<T> {
  const headers = new Headers({
    Authorization: `Bearer ${key}`,
    ...init.headers
  })
  const response = await fetchWithRetries(baseUrl + path, { ...init, headers })
  const text = await response.text()
  const data = text === '' ? undefined : parse(text, toNumber)

  return { status: response.status, headers: response.headers, data } as T
}
