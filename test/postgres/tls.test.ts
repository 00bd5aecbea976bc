import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { generate } from 'selfsigned'
import t from 'tap'
import { open, query } from '../support/database.ts'
import { startPostgres } from '../support/postgres.ts'
import { cancelRequest, startProxy } from '../support/proxy.ts'

t.test(
  'with sslmode=verify-full the service connects only to a server that the CA has signed',
  async (t) => {
    const ca = await generate(
      [{ name: 'commonName', value: 'CA of the test' }],
      {
        extensions: [{ name: 'basicConstraints', cA: true, critical: true }]
      }
    )
    const stranger = await generate([
      { name: 'commonName', value: 'CA of a stranger' }
    ])
    const certificate = await generate(
      [{ name: 'commonName', value: 'localhost' }],
      {
        ca: { key: ca.private, cert: ca.cert },
        extensions: [
          {
            name: 'subjectAltName',
            altNames: [{ type: 2, value: 'localhost' }]
          }
        ]
      }
    )
    const files = {
      'server.key': certificate.private,
      'server.crt': certificate.cert
    }
    const postgres = await startPostgres(t, { ssl: 'on' }, files)
    const folder = t.testdir()
    const url = (host: string, cert: string, port = postgres.port) => {
      const file = path.join(folder, 'ca.pem')
      writeFileSync(file, cert)
      return `postgres://postgres@${host}:${port}/postgres?sslmode=verify-full&sslrootcert=${file}`
    }
    const run = (url: string, text = 'SELECT', timeout = 5000) =>
      open(t, url, timeout).read({ text })
    await run(url('localhost', ca.cert))
    const encrypted = `SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'pet-categories'`
    t.same(await query(postgres.url, encrypted), [{ ssl: true }])
    await t.rejects(run(url('127.0.0.1', ca.cert)), {
      cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }
    })
    await t.rejects(run(url('localhost', stranger.cert)), {
      cause: { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }
    })

    const proxy = await startProxy(t, postgres.url)
    const slow = run(
      url('localhost', ca.cert, proxy.port),
      'SELECT pg_sleep(60)',
      1000
    )
    await t.rejects(
      slow,
      { cause: { code: '57014' } },
      'a slow statement is cancelled'
    )
    t.equal(proxy.connections(), 2)
    t.notOk(
      Buffer.concat(proxy.sent).includes(cancelRequest),
      'and the secret key of its connection is not sent in the clear'
    )
  }
)
