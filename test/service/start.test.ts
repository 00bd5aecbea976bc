import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { findServer } from '../../src/framework/embedded/server.ts'
import { copyData, temporaryFolder } from '../support/database.ts'
import { serveNotes, apiKeyPrefix, storedNotes } from '../support/notes.ts'
import { keyPattern, started } from '../support/process.ts'
import { startClients } from '../support/resend.ts'

t.test(
  'the first start prints a key, and what it stores survives kill -9',
  async (t) => {
    const directory = temporaryFolder(t)
    const first = serveNotes(t, {}, directory)
    const url = await started(first)
    const [curl, key = ''] = await first.sees(
      new RegExp(`curl \\S+ -H 'Authorization: Bearer (${apiKeyPrefix}\\w+)'`)
    )
    t.match(curl, `curl ${url}/v1/notes -H`)
    t.match(first.output(), `Docs    ${url}/docs`)

    const targets = [{ url, key }]
    const clients = startClients(targets)
    await clients.stores(20)
    first.child.kill('SIGKILL')
    t.equal(await first.exited, 'SIGKILL')

    const second = serveNotes(t, {}, directory)
    targets[0] = { url: await started(second), key }
    await second.sees(/Create another: npm run keys/)
    t.notMatch(
      second.output(),
      keyPattern,
      'the key is not shown again, and no other is created'
    )

    const databaseUrl = await findServer(path.join(directory, '.data'))
    t.same(await clients.stop(() => storedNotes(String(databaseUrl))), [])
    t.equal(await second.stop(), 0)
  }
)

t.test(
  'when the embedded PostgreSQL ends, the service does, with a line',
  async (t) => {
    const directory = temporaryFolder(t)
    copyData(directory)
    const service = serveNotes(t, { DATA_DIR: directory })
    await service.sees(/Keys are shown once/)
    const lockFile = path.join(directory, 'postgres/postmaster.pid')
    process.kill(parseInt(readFileSync(lockFile, 'utf8')), 'SIGKILL')

    t.equal(await service.exited, 1)
    t.match(
      service.output(),
      /^notes: the embedded PostgreSQL has ended \(.+\): start again$/m
    )
  }
)
