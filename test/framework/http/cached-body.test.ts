import type { IncomingHttpHeaders } from 'node:http'
import zlib from 'node:zlib'
import t from 'tap'
import { CachedBody } from '../../../src/framework/http/cached-body.ts'

const text = Buffer.from('{"id":1},'.repeat(200))

/** The headers and the bytes for the headers of a request. */
async function select(body: CachedBody, headers: IncomingHttpHeaders) {
  const sent: Record<string, string> = {}
  const reply = {
    header: (name: string, value: string) => {
      sent[name] = value
    }
  }
  const encoded = await body.negotiate(headers, reply)
  const bytes = encoded === undefined ? undefined : Buffer.from(encoded)

  return { bytes, etag: sent['etag'], coding: sent['content-encoding'] }
}

/** Values of Accept-Encoding, by the coding that they select. */
const accepted = {
  identity: [undefined, 'deflate, br', 'gzip;q=0, *'],
  gzip: ['Gzip;Q=0.5, identity;Q=0.1', 'gzip, *;q=0']
}

t.test('Accept-Encoding selects the coding', async (t) => {
  const body = new CachedBody(text)
  for (const header of accepted.identity)
    t.match(await select(body, { 'accept-encoding': header }), {
      coding: undefined,
      bytes: text
    })
  for (const header of accepted.gzip) {
    const { coding, bytes } = await select(body, { 'accept-encoding': header })
    t.equal(coding, 'gzip', header)
    t.same(zlib.gunzipSync(bytes ?? ''), text)
  }
})

t.test('If-None-Match is compared weakly', async (t) => {
  const body = new CachedBody(text)
  const { etag = '' } = await select(body, {})
  const known = async (tags: string) =>
    (await select(body, { 'if-none-match': tags })).bytes === undefined

  for (const tags of [etag, `"x", ${etag.slice(2)}`, '*'])
    t.ok(await known(tags), tags)
  for (const tags of ['"x"', etag.slice(0, -1)])
    t.notOk(await known(tags), tags)
})

const gzipOnly = { 'accept-encoding': 'gzip' }

t.test('a body of 1 KiB or more is compressed', async (t) => {
  for (const [size, coding] of [
    [2 ** 10 - 1, undefined],
    [2 ** 10, 'gzip']
  ] as const) {
    const body = new CachedBody(Buffer.alloc(size))
    t.equal((await select(body, gzipOnly)).coding, coding, `${size} bytes`)
  }
})

t.test(
  'after a failure to compress, the next request tries again',
  async (t) => {
    type Done = (error: Error | null, bytes?: Buffer) => void
    const results: Parameters<Done>[] = [
      [new Error('no memory')],
      [null, Buffer.from('compressed')]
    ]
    const gzip = (_bytes: Buffer, done: Done) =>
      done(...(results.shift() ?? [null]))
    const modified = await t.mockImport<
      typeof import('../../../src/framework/http/cached-body.ts')
    >('../../../src/framework/http/cached-body.ts', {
      'node:zlib': { ...zlib, gzip }
    })

    const body = new modified.CachedBody(text)
    const reply = { header: () => t.fail('a failure has no headers') }
    await t.rejects(body.negotiate(gzipOnly, reply), { message: 'no memory' })
    t.equal((await select(body, gzipOnly)).bytes?.toString(), 'compressed')
  }
)
