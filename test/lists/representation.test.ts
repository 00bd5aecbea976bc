import { BrotliCompress, brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { represent } from '../../src/lists/representation.ts'

const text = Buffer.from(
  JSON.stringify(
    Array.from({ length: 100 }, (_, id) => ({ id, name: `Category ${id}` }))
  )
)
const body = (bytes = text) =>
  represent(
    [bytes.subarray(0, 500), bytes.subarray(500)],
    bytes.length,
    'digest'
  )

t.test(
  'Accept-Encoding selects the coding that it prefers, and Brotli among equals',
  async (t) => {
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
    for (const [header, coding] of expected)
      t.equal((await list.encoded(header)).coding, coding, String(header))
  }
)

t.test(
  'each coding is made once, has the same body and its own ETag, which If-None-Match matches weakly',
  async (t) => {
    const list = body()
    const codings = [
      [undefined, (bytes: Buffer) => bytes],
      ['gzip', gunzipSync],
      ['br', brotliDecompressSync]
    ] as const
    const tags = new Set<string>()
    for (const [header, decode] of codings) {
      const { chunks, size, etag } = await list.encoded(header)
      t.same(decode(Buffer.concat(chunks)), text)
      t.equal(size, Buffer.concat(chunks).length)
      t.equal((await list.encoded(header)).chunks, chunks)
      for (const header of [etag, `W/${etag}`, `"a,b", W/"other" ,${etag},"x"`])
        t.equal(list.match(header), etag)
      tags.add(etag)
    }
    t.equal(tags.size, 3)
    const [identity = ''] = tags
    for (const header of ['*', ' * ']) t.equal(list.match(header), identity)
    for (const other of ['', '"x"', '"*"', identity.replaceAll('"', '')])
      t.equal(list.match(other), undefined, other)
  }
)

t.test(
  'a body that is small, very long or incompressible is not compressed',
  async (t) => {
    t.equal(
      (await body(Buffer.from('[{"id":1}]')).encoded('br')).coding,
      'identity'
    )
    t.equal(
      (await body(Buffer.alloc(2 ** 23 + 1)).encoded('br')).coding,
      'identity'
    )
    const random = Buffer.from(
      Array.from(
        { length: 2000 },
        (_, index) => (index * index * 7919 + index * 104729) >> 5
      )
    )
    const { coding, etag } = await body(random).encoded('gzip')
    t.equal(coding, 'identity')
    t.equal(body(random).match(etag), etag)
  }
)

t.test(
  'a compression that failed is repeated for the next request',
  async (t) => {
    const list = body()
    // Stands in for too little memory.
    const failing = t.intercept(BrotliCompress.prototype, '_transform', {
      value: (
        _chunk: Buffer,
        _encoding: string,
        done: (error: Error) => void
      ) => done(new Error('no memory'))
    })
    await t.rejects(async () => list.encoded('br'), { message: 'no memory' })
    failing.restore()
    t.equal((await list.encoded('br')).coding, 'br')
  }
)
