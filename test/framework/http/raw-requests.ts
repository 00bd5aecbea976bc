import { connect } from 'node:net'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { query } from '../../support/database.ts'
import { parseRaw, sendRaw, type Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

export type Headers = Record<string, string | string[] | undefined>

/**
 * The bytes of a request, in latin1. Without `HTTP/` in the first line it is
 * HTTP/1.1. `$KEY` stands for a valid API key. A header with several values is
 * sent several times, an undefined one is not sent.
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
  const defaults = {
    Host: 'test',
    Authorization: 'Bearer $KEY',
    Connection: 'close',
    ...(body !== undefined && bodyHeaders)
  }

  const requestLine = line.includes('HTTP/') ? line : `${line} HTTP/1.1`
  const headerLines = linesOf({ ...defaults, ...headers })
  const content = bytes.toString('latin1')

  return [requestLine, ...headerLines, '', content].join('\r\n')
}

const linesOf = (headers: Headers): string[] =>
  Object.entries(headers).flatMap(([name, values = []]) =>
    [values].flat().map((value) => `${name}: ${value}`)
  )

/** A request that lists or creates notes and closes its connection. */
export const listRequest = (headers?: Headers) =>
  request('GET /v1/notes', headers)
export const createRequest = (body?: string | Buffer, headers?: Headers) =>
  request('POST /v1/notes', headers, body)

export const chunked = {
  'Content-Length': undefined,
  'Transfer-Encoding': 'chunked'
}

/** A chunked body with a chunk for each byte. */
export const parts = (content: string) =>
  `${content.replaceAll(/./gs, (byte) => `1\r\n${byte}\r\n`)}0\r\n\r\n`

/** Headers of a request that keeps its connection open. */
export const keepAlive = { Connection: undefined }

/** Headers of such a request without an API key. */
export const anonymous = { ...keepAlive, Authorization: undefined }

export const getRequest = (path: string, headers?: Headers) =>
  request(`GET ${path}`, { ...anonymous, ...headers })

const bytesOf = (text: string, key: string) =>
  Buffer.from(text.replaceAll('$KEY', key), 'latin1')

/** Sends a request and returns the response. */
export const send = async (
  { port, key }: Pick<Service, 'port' | 'key'>,
  text: string
) => parseRaw(await sendRaw(port, bytesOf(text, key)))

/**
 * A connection that sends a request and collects the responses. Its errors are
 * ignored.
 */
export function openConnection(
  t: Test,
  { port, key }: Pick<Service, 'port' | 'key'>,
  first = ''
) {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.teardown(() => socket.destroy())
  socket.write(bytesOf(first, key))

  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1')
  })

  return {
    socket,
    responded: new Promise((resolve) => socket.once('data', resolve)),
    closed: new Promise((resolve) => socket.once('close', resolve)),
    /** Sends more bytes, and does not wait for it. */
    write: (text: string) => {
      socket.write(bytesOf(text, key))
    },
    received: () => received,
    statuses: () => (received.match(/(?<=HTTP\/1\.1 )\d+/g) ?? []).map(Number)
  }
}

/** Stores notes of 2 kB: a list of 16 MB, which no socket buffers. */
export const fillNotes = (databaseUrl: string) =>
  query(
    databaseUrl,
    `INSERT INTO notes (name, description)
     SELECT n, repeat('x', 2000)
     FROM generate_series(1, 8000) AS n`
  )

/** Resolves when the service has no connection. */
export async function disconnected({ app }: Service): Promise<void> {
  const connections = promisify(app.server.getConnections.bind(app.server))
  const isIdle = async () => (await connections()) === 0
  await until(isIdle, 'every connection closes')
}
