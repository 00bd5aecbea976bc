import zlib from 'node:zlib'
import t from 'tap'
import { CachedBody } from '../../../src/framework/http/encodings.ts'

const text = Buffer.from('{"id":1},'.repeat(200))

const decoders = {
  identity: (bytes: Buffer) => bytes,
  gzip: zlib.gunzipSync,
  br: zlib.brotliDecompressSync
}

/** Values of Accept-Encoding, by the coding that they select. */
const accepted: Record<keyof typeof decoders, (string | undefined)[]> = {
  identity: [
    undefined,
    'deflate, zstd',
    'identity, br;q=0.5',
    '*, gzip;q=0, br;q=0'
  ],
  gzip: ['Gzip;Q=0.5, identity;Q=0.1', 'br;q=0, *', '*;q=0.5, br ; q=0.000'],
  br: ['gzip, deflate, br, zstd', '*']
}

t.test('Accept-Encoding selects the coding that it prefers', async (t) => {
  const body = new CachedBody(text)
  const etags = new Set<string>()
  for (const coding of ['identity', 'gzip', 'br'] as const)
    for (const header of accepted[coding]) {
      const encoded = await body.encodedFor(header)
      t.equal(encoded.coding, coding, String(header))
      t.same(decoders[coding](encoded.bytes), text)
      t.equal(await body.encodedFor(header), encoded, 'it is made once')
      etags.add(encoded.etag)
    }

  t.equal(etags.size, 3)
})

/** The same bytes in each run. */
const noise = Buffer.from(
  Array.from({ length: 2000 }, (_, n) => (n * n * 7919 + n * 104729) >> 5)
)

t.test(
  'a small, very long or incompressible body is not compressed',
  async (t) => {
    const small = text.subarray(0, 1000)
    for (const bytes of [small, Buffer.alloc(2 ** 23 + 1), noise]) {
      const { coding } = await new CachedBody(bytes).encodedFor('gzip')
      t.equal(coding, 'identity')
    }
  }
)

t.test('a body that cannot be compressed is sent as it is', async (t) => {
  type Done = (error: Error) => void
  const gzip = (_bytes: Buffer, done: Done) => done(new Error('no memory'))
  const modified = await t.mockImport<
    typeof import('../../../src/framework/http/encodings.ts')
  >('../../../src/framework/http/encodings.ts', {
    'node:zlib': { ...zlib, gzip }
  })

  const body = new modified.CachedBody(text)
  t.equal((await body.encodedFor('gzip')).coding, 'identity')
})
