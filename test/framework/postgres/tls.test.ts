import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { openDatabase, query } from '../../support/database.ts'
import { startPostgres } from '../../support/postgres.ts'
import { cancelRequest, startProxy } from '../../support/proxy.ts'
import { serviceName } from '../../support/notes.ts'

const named = (value: string) => [{ name: 'commonName', value }]

const ca = await generate(named('CA of the test'), {
  extensions: [{ name: 'basicConstraints', cA: true, critical: true }]
})
const stranger = await generate(named('CA of a stranger'))
const certificate = await generate(named('localhost'), {
  ca: { key: ca.private, cert: ca.cert },
  extensions: [
    { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }
  ]
})

const postgres = await startPostgres(
  t,
  { ssl: 'on' },
  { 'server.key': certificate.private, 'server.crt': certificate.cert }
)

interface Address {
  host?: string
  port?: number
  /** The certificate of the CA that the client trusts. */
  trusted?: string
}

/** The URL of the server for a client that verifies its certificate. */
function verifiedUrl(t: Test, address: Address = {}): string {
  const { host = 'localhost', port = postgres.port } = address
  const file = path.join(t.testdir(), 'ca.pem')
  writeFileSync(file, address.trusted ?? ca.cert)

  const url = new URL(`postgres://postgres@${host}:${port}/postgres`)
  url.searchParams.set('sslmode', 'verify-full')
  url.searchParams.set('sslrootcert', file)

  return url.href
}

/** Reads nothing through a new connection. */
const connect = (t: Test, url: string) =>
  openDatabase(t, url).read({ text: 'SELECT' })

t.test('the connection to a server that the CA has signed', async (t) => {
  await connect(t, verifiedUrl(t))
  const isEncrypted = `
    SELECT ssl
    FROM pg_stat_ssl
    JOIN pg_stat_activity USING (pid)
    WHERE application_name = '${serviceName}'
  `
  t.same(await query(postgres.url, isEncrypted), [{ ssl: true }])
})

t.test('a certificate for another host is rejected', async (t) => {
  const url = verifiedUrl(t, { host: '127.0.0.1' })
  const cause = { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }
  await t.rejects(connect(t, url), { cause })
})

t.test('a certificate that another CA has signed is rejected', async (t) => {
  const url = verifiedUrl(t, { trusted: stranger.cert })
  const cause = { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }
  await t.rejects(connect(t, url), { cause })
})

t.test('a CancelRequest is encrypted', async (t) => {
  const proxy = await startProxy(t, postgres.url)
  const database = openDatabase(t, verifiedUrl(t, { port: proxy.port }), 1000)
  const slow = database.read({ text: 'SELECT pg_sleep(60)' })

  const cancelled = { cause: { code: '57014' } }
  await t.rejects(slow, cancelled)
  t.equal(proxy.connections(), 2)
  t.notOk(
    Buffer.concat(proxy.sentChunks).includes(cancelRequest),
    'the secret key of the connection is not sent in the clear'
  )
})

t.test('a certificate file is needed only at the start', async (t) => {
  const url = verifiedUrl(t)
  const database = openDatabase(t, url)
  rmSync(String(new URL(url).searchParams.get('sslrootcert')))
  t.same(await database.read({ text: 'SELECT 1 AS one' }), [{ one: 1 }])
})
