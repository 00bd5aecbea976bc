import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import { CachedBody } from '../../../src/framework/http/encodings.ts'

const items = Array.from({ length: 100 }, (_, id) => ({
  id,
  name: `Category ${id}`
}))
const text = Buffer.from(JSON.stringify(items))

const bodyOf = (bytes = text) => new CachedBody(bytes)

t.test(
  'Accept-Encoding selects the coding that it prefers, and Brotli among equals',
  async (t) => {
    const body = bodyOf()
    const cases = [
      { header: undefined, coding: 'identity' },
      { header: '', coding: 'identity' },
      { header: 'deflate, zstd', coding: 'identity' },
      { header: 'gzip, deflate, br, zstd', coding: 'br' },
      { header: 'gzip;q=1, br;q=0.5', coding: 'gzip' },
      { header: 'identity, br;q=0.5', coding: 'identity' },
      { header: '*', coding: 'br' },
      { header: '*;q=0', coding: 'identity' }
    ]

    for (const { header, coding } of cases) {
      const encoded = await body.encodedFor(header)
      t.equal(encoded.coding, coding, String(header))
    }
  }
)

t.test('Accept-Encoding ignores case', async (t) => {
  for (const header of ['GZIP', 'Gzip;Q=0.5, identity;Q=0.1']) {
    const { coding } = await bodyOf().encodedFor(header)
    t.equal(coding, 'gzip', header)
  }
})

t.test(
  'a coding that Accept-Encoding rejects is not sent, even if it has a *',
  async (t) => {
    const cases = [
      { header: 'br;q=0, *', coding: 'gzip' },
      { header: '*;q=0.5, br ; q=0.000', coding: 'gzip' },
      { header: '*, gzip;q=0, br;q=0', coding: 'identity' }
    ]
    for (const { header, coding } of cases) {
      const encoded = await bodyOf().encodedFor(header)
      t.equal(encoded.coding, coding, header)
    }
  }
)

t.test(
  'each coding is made once, decodes to the same body and has its own ETag',
  async (t) => {
    const body = bodyOf()
    const etags = new Set<string>()
    const decoders = {
      identity: (bytes: Buffer) => bytes,
      gzip: gunzipSync,
      br: brotliDecompressSync
    }

    for (const [coding, decode] of Object.entries(decoders)) {
      const encoded = await body.encodedFor(coding)
      t.same(decode(encoded.bytes), text)
      t.equal(await body.encodedFor(coding), encoded)
      etags.add(encoded.etag)
    }
    t.equal(etags.size, 3)
  }
)

t.test('If-None-Match matches the tag of any coding, weakly', async (t) => {
  const body = bodyOf()
  for (const coding of ['identity', 'gzip', 'br']) {
    const { etag } = await body.encodedFor(coding)
    t.equal(body.matchingTag(etag), etag)
    t.equal(body.matchingTag(`W/${etag}`), etag)
    t.equal(body.matchingTag(`"a,b", W/"other" ,${etag},"x"`), etag)
  }
})

t.test('If-None-Match: * gets the tag of the unencoded body', async (t) => {
  const body = bodyOf()
  const { etag } = await body.encodedFor('identity')
  t.equal(body.matchingTag('*'), etag)
  t.equal(body.matchingTag(' * '), etag)
  for (const other of [undefined, '', '"x"', '"*"', etag.replaceAll('"', '')])
    t.equal(body.matchingTag(other), undefined, String(other))
})

t.test(
  'a body that is small, very long or incompressible is not compressed',
  async (t) => {
    // The same bytes in each run.
    const noise = Buffer.from(
      Array.from({ length: 2000 }, (_, n) => (n * n * 7919 + n * 104729) >> 5)
    )
    const bodies = {
      small: Buffer.from('[{"id":1}]'),
      'very long': Buffer.alloc(2 ** 23 + 1),
      incompressible: noise
    }

    for (const [kind, bytes] of Object.entries(bodies)) {
      const body = bodyOf(bytes)
      const { coding, etag } = await body.encodedFor('gzip')
      t.equal(coding, 'identity', kind)
      t.equal(body.matchingTag(etag), etag)
    }
  }
)

t.test(
  'a compression that failed is repeated for the next request',
  async (t) => {
    const results = [Promise.reject(new Error('no memory')), text.subarray(1)]
    const compress = async () => (await results.shift()) ?? text
    const body = new CachedBody(text, { br: compress, gzip: compress })

    await t.rejects(async () => body.encodedFor('br'), {
      message: 'no memory'
    })
    t.equal((await body.encodedFor('br')).coding, 'br')
  }
)
