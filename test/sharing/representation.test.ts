import { syncBuiltinESMExports } from 'node:module'
import zlib, { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { represent } from '../../src/sharing/representation.ts'

const text = Buffer.from(JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ id, name: `Category ${id}` }))))

t.test('Accept-Encoding selects the coding that it prefers, and Brotli among equals', async (t) => {
  const list = represent(text)
  const expected: [string | undefined, string][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['identity', 'identity'],
    ['deflate, zstd', 'identity'],
    ['gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=1, br;q=0.5', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['gzip;q=0, br;q=0', 'identity'],
    ['*', 'br'],
    ['*;q=0', 'identity'],
    ['identity;q=0, gzip;q=0.1', 'gzip'],
    [';;q=,,', 'identity']
  ]
  for (const [header, coding] of expected) t.equal((await list.encoded(header)).coding, coding, String(header))
  for (let index = 0; index < 200; index++) await list.encoded(`x-${index}, gzip`)
  t.equal((await list.encoded('gzip, deflate, br, zstd')).coding, 'br', 'after many others')
})

t.test('each coding is made once, has the same body and its own ETag', async (t) => {
  const list = represent(text)
  const [identity, gzip, br] = await Promise.all([undefined, 'gzip', 'br'].map((header) => list.encoded(header)))
  t.same(identity?.bytes, text)
  t.same(gunzipSync(gzip?.bytes as Buffer), text)
  t.same(brotliDecompressSync(br?.bytes as Buffer), text)
  t.equal(new Set([identity?.etag, gzip?.etag, br?.etag]).size, 3)
  t.equal(await list.encoded('gzip'), gzip)
  t.equal((await represent(Buffer.from(text)).encoded('br')).etag, br?.etag, 'the same bytes have the same tag')
})

t.test('a body that is small or incompressible is not compressed', async (t) => {
  t.equal((await represent(Buffer.from('[{"id":1}]')).encoded('br')).coding, 'identity')
  const random = Buffer.from(Array.from({ length: 2000 }, (_, index) => (index * index * 7919 + index * 104729) >> 5))
  const { coding, etag } = await represent(random).encoded('gzip')
  t.equal(coding, 'identity')
  t.equal(represent(random).match(etag), etag)
})

t.test('a compression that failed is repeated for the next request', async (t) => {
  const list = represent(text)
  // Stands in for too little memory.
  const failing = t.intercept(zlib, 'brotliCompress', {
    value: (_bytes: Buffer, _options: object, done: (error: Error) => void) => done(new Error('no memory'))
  })
  syncBuiltinESMExports()
  await t.rejects(list.encoded('br'), { message: 'no memory' })
  failing.restore()
  syncBuiltinESMExports()
  t.equal((await list.encoded('br')).coding, 'br')
})

t.test('If-None-Match is compared weakly with the tags of every coding', async (t) => {
  const list = represent(text)
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
