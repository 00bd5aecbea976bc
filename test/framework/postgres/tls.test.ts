import { rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { openDatabase } from '../../support/database.ts'
import { startPostgres } from '../../support/postgres.ts'
import { cancelRequest, sslRequest, startProxy } from '../../support/proxy.ts'

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

/**
 * Opens the database for a client that trusts a CA, and deletes its
 * certificate, which is needed only at the start.
 */
function open(
  t: Test,
  { port = postgres.port, cert = ca.cert, negotiation = 'postgres' }
) {
  const file = path.join(t.testdir(), 'ca.pem')
  writeFileSync(file, cert)
  const url = `postgres://postgres@localhost:${port}/postgres`
  const mode = `sslmode=verify-full&sslnegotiation=${negotiation}&sslrootcert=${encodeURIComponent(file)}`
  const database = openDatabase(t, `${url}?${mode}`, 1000)
  rmSync(file)

  return database
}

t.test('a certificate is verified', async (t) => {
  const read = open(t, stranger).run('reads', { text: 'SELECT' })
  await t.rejects(read, { cause: { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' } })
})

t.test('a connection and its CancelRequest are encrypted', async (t) => {
  for (const negotiation of ['postgres', 'direct']) {
    const proxy = await startProxy(t, postgres.url)
    const database = open(t, { port: proxy.port, negotiation })
    const slow = database.run('reads', { text: 'SELECT pg_sleep(60)' })
    await t.rejects(slow, { cause: { code: '57014' } })

    const sent = Buffer.concat(proxy.sentChunks)
    t.notOk(sent.includes('application_name'))
    // The secret key of the connection would be sent in the clear.
    t.notOk(sent.includes(cancelRequest))
    t.equal(sent.includes(sslRequest), negotiation === 'postgres')
  }
})
