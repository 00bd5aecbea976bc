import { BrotliCompress, brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { represent } from '../../src/sharing/representation.ts'

const text = Buffer.from(JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ id, name: `Category ${id}` }))))
const body = (bytes = text) => represent([bytes.subarray(0, 500), bytes.subarray(500)], bytes.length, 'digest')

t.test('Accept-Encoding selects the coding that it prefers, and Brotli among equals', async (t) => {
  const list = body()
  const expected: [string | undefined, string][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['deflate, zstd', 'identity'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['*', 'br'],
    ['*;q=0', 'identity']
  ]
  for (const [header, coding] of expected) t.equal((await list.encoded(header)).coding, coding, String(header))
})

t.test('each coding is made once, has the same body and its own ETag', async (t) => {
  const list = body()
  const [identity, gzip, br] = await Promise.all([undefined, 'gzip', 'br'].map(async (header) => list.encoded(header)))
  const bytes = (encoded: typeof identity) => Buffer.concat(encoded?.chunks ?? [])
  t.same(bytes(identity), text)
  t.same(gunzipSync(bytes(gzip)), text)
  t.same(brotliDecompressSync(bytes(br)), text)
  for (const encoded of [identity, gzip, br]) t.equal(encoded?.size, bytes(encoded).length)
  t.equal(new Set([identity?.etag, gzip?.etag, br?.etag]).size, 3)
  t.equal(await list.encoded('gzip'), gzip)
})

t.test('a body that is small, very long or incompressible is not compressed', async (t) => {
  t.equal((await body(Buffer.from('[{"id":1}]')).encoded('br')).coding, 'identity')
  t.equal((await body(Buffer.alloc(2 ** 23 + 1)).encoded('br')).coding, 'identity')
  const random = Buffer.from(Array.from({ length: 2000 }, (_, index) => (index * index * 7919 + index * 104729) >> 5))
  const { coding, etag } = await body(random).encoded('gzip')
  t.equal(coding, 'identity')
  t.equal(body(random).match(etag), etag)
})

t.test('a compression that failed is repeated for the next request', async (t) => {
  const list = body()
  // Stands in for too little memory.
  const failing = t.intercept(BrotliCompress.prototype, '_transform', {
    value: (_chunk: Buffer, _encoding: string, done: (error: Error) => void) => done(new Error('no memory'))
  })
  await t.rejects(async () => list.encoded('br'), { message: 'no memory' })
  failing.restore()
  t.equal((await list.encoded('br')).coding, 'br')
})

t.test('If-None-Match is compared weakly with the tags of every coding', async (t) => {
  const list = body()
  const [identity = '', gzip = '', br = ''] = await Promise.all(
    [undefined, 'gzip', 'br'].map(async (header) => (await list.encoded(header)).etag)
  )
  for (const tag of [identity, gzip, br]) {
    t.equal(list.match(tag), tag)
    t.equal(list.match(`W/${tag}`), tag)
    t.equal(list.match(`"a,b", W/"other" ,${tag},"x"`), tag)
  }
  t.equal(list.match('*'), identity)
  t.equal(list.match(' * '), identity)
  for (const other of ['', '"x"', identity.slice(1, -1), '"*"', identity.replaceAll('"', '')])
    t.equal(list.match(other), undefined, other)
})
