import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { openDatabase } from '../../support/database.ts'
import { startPostgres } from '../../support/postgres.ts'
import { cancelRequest, sslRequest, startProxy } from '../../support/proxy.ts'

/** Makes a certificate of this machine, which signs itself. */
const selfSigned = () =>
  generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [
      { name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }
    ]
  })

const own = await selfSigned()
const stranger = await selfSigned()
const postgres = await startPostgres(
  t,
  { ssl: 'on' },
  { 'server.key': own.private, 'server.crt': own.cert }
)

/**
 * Opens the database for a client that trusts a certificate, and deletes its
 * file, which is needed only at the start.
 */
function open(t: Test, port: number, { cert }: { cert: string }, more = '') {
  const file = path.join(t.testdir(), 'ca.pem')
  writeFileSync(file, cert)
  const url = `postgres://postgres@localhost:${port}/postgres`
  const mode = `sslmode=verify-full&sslrootcert=${encodeURIComponent(file)}`
  const database = openDatabase(t, `${url}?${mode}${more}`, 1000)
  rmSync(file)

  return database
}

t.test('a certificate is verified', async (t) => {
  const database = open(t, postgres.port, stranger)
  await t.rejects(database.run('reads', { text: 'SELECT' }), {
    cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }
  })
})

t.test('a connection and its CancelRequest are encrypted', async (t) => {
  const proxy = await startProxy(t, postgres.url)
  // A server may accept nothing but TLS, without the request for it.
  const database = open(t, proxy.port, own, '&sslnegotiation=direct')
  const slow = database.run('reads', { text: 'SELECT pg_sleep(60)' })
  await t.rejects(slow, { cause: { code: '57014' } })

  const sent = Buffer.concat(proxy.sentChunks)
  // The secret key of the connection would be sent in the clear.
  t.notOk(sent.includes(cancelRequest))
  t.notOk(sent.includes(sslRequest))
})
