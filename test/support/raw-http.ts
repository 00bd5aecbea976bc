// Requests as bytes, for what no HTTP client sends.
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { query } from './database.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

type Headers = Record<string, string | string[] | undefined>

/**
 * The bytes of a request, in latin1. `$API_KEY` stands for a valid API key. A
 * header with several values is sent several times, an undefined one is not
 * sent.
 */
export function request(
  line: string,
  headers: Headers = {},
  body?: string | Buffer
): string {
  const bytes = Buffer.from(body ?? '')
  const bodyHeaders = {
    'Content-Type': 'application/json',
    'Content-Length': String(bytes.length)
  }
  const all: Headers = {
    Host: 'test',
    Authorization: 'Bearer $API_KEY',
    Connection: 'close',
    ...(body !== undefined && bodyHeaders),
    ...headers
  }
  const lines = Object.entries(all).flatMap(([name, values = []]) =>
    [values].flat().map((value) => `${name}: ${value}`)
  )

  return [`${line} HTTP/1.1`, ...lines, '', bytes.toString('latin1')].join(
    '\r\n'
  )
}

export const getRequest = (path: string, headers?: Headers) =>
  request(`GET ${path}`, headers)

/** Requests that list or create categories. */
export const listCategoriesRequest = (headers?: Headers) =>
  getRequest('/v1/categories', headers)
export const createCategoryRequest = (
  body?: string | Buffer,
  headers?: Headers
) => request('POST /v1/categories', headers, body)

/** Headers of a request that keeps its connection open. */
export const keepAlive = { Connection: undefined }

/** Headers of a request without an API key. */
export const unauthenticated = { Authorization: undefined }

/** Headers of a request whose body comes in chunks. */
export const chunked = {
  'Content-Length': undefined,
  'Transfer-Encoding': 'chunked'
}

/** The last chunk of a body. */
export const lastChunk = '0\r\n\r\n'

/** A body in one chunk, if it is not empty. */
export const chunksOf = (body: string): string =>
  body === ''
    ? lastChunk
    : `${body.length.toString(16)}\r\n${body}\r\n${lastChunk}`

type Target = Pick<Service, 'port' | 'apiKey'>

const bytesOf = (bytes: string, apiKey: string) =>
  Buffer.from(bytes.replaceAll('$API_KEY', apiKey), 'latin1')

/** Sends a request and returns the response, with its headers in lower case. */
export async function send({ port, apiKey }: Target, bytes: string) {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytesOf(bytes, apiKey))
  const [head = '', ...rest] = (await text(socket)).split('\r\n\r\n')
  const [, status] = / (\d+)/.exec(head) ?? []
  const fields = Array.from(
    head.matchAll(/^([\w-]+): ?(.*)/gm),
    ([, name = '', value = '']) => [name.toLowerCase(), value]
  )

  return {
    status: Number(status),
    headers: Object.fromEntries(fields) as Record<string, string>,
    body: rest.join('\r\n\r\n')
  }
}

/**
 * A connection that sends a request and collects the responses. Its errors are
 * ignored.
 */
export function openConnection(t: Test, { port, apiKey }: Target, first = '') {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  socket.write(bytesOf(first, apiKey))
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })

  return {
    socket,
    responded: new Promise((resolve) => socket.once('data', resolve)),
    closed: new Promise((resolve) => socket.once('close', resolve)),
    /** Sends more bytes, and does not wait for it. */
    write: (bytes: string) => {
      socket.write(bytesOf(bytes, apiKey))
    },
    received: () => received,
    statuses: () => (received.match(/(?<=HTTP\/1\.1 )\d+/g) ?? []).map(Number)
  }
}

/** Stores categories of 2 kB: a list of 16 MB, which no socket buffers. */
export const fillCategories = (databaseUrl: string) =>
  query(
    databaseUrl,
    `INSERT INTO categories (name, description)
     SELECT n, repeat(md5(n::text), 62)
     FROM generate_series(1, 8000) AS n`
  )

/** Whether a client received the whole list. */
export const isComplete = (received: string): boolean =>
  received.length > 16_000_000 && received.endsWith('}]')

/** Resolves when the service has no connection. */
export async function waitForDisconnects({ app }: Service): Promise<void> {
  const connections = promisify(app.server.getConnections.bind(app.server))
  const isIdle = async () => (await connections()) === 0
  await until(isIdle, 'every connection closes')
}
