import t, { type Test } from 'tap'
import { query } from '../../support/database.ts'
import { listNotes, startNotes, storedNames } from '../../support/notes.ts'
import { startPostgres } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

/** Two servers, of which the second will subscribe to the first. */
async function startServers(t: Test) {
  const settings = { wal_level: 'logical' }
  const publisher = await startPostgres(t, settings)
  const subscriber = await startPostgres(t, settings)
  await query(publisher.url, 'CREATE PUBLICATION lists FOR TABLE notes')

  const subscribe = () =>
    query(
      subscriber.url,
      `CREATE SUBSCRIPTION lists
       CONNECTION 'host=127.0.0.1 port=${publisher.port} user=postgres'
       PUBLICATION lists`
    )

  const publish = (sql: string) => query(publisher.url, sql)

  return { publish, subscribe, subscriber: subscriber.url }
}

type Servers = Awaited<ReturnType<typeof startServers>>

/** The changes that arrive, and the names that are listed after each. */
function changesOf({ publish, subscribe }: Servers) {
  const insert = (name: string) => () =>
    publish(`INSERT INTO notes (name) VALUES ('${name}')`)
  const update = () => publish("UPDATE notes SET name = 'd' WHERE id = 1")
  const remove = () => publish('DELETE FROM notes WHERE id = 1')
  const truncate = () => publish('TRUNCATE notes CASCADE')

  return [
    { title: 'the initial copy', change: subscribe, names: ['a'] },
    { title: 'an insert', change: insert('b'), names: ['a', 'b'] },
    { title: 'another insert', change: insert('c'), names: ['a', 'b', 'c'] },
    { title: 'an update', change: update, names: ['d', 'b', 'c'] },
    { title: 'a delete', change: remove, names: ['b', 'c'] },
    { title: 'a truncate', change: truncate, names: [] }
  ]
}

t.test('a list shows what logical replication applies', async (t) => {
  const servers = await startServers(t)
  const databaseUrl = servers.subscriber
  const service = await startNotes(t, { databaseUrl })
  await servers.publish("INSERT INTO notes (name) VALUES ('a')")

  for (const { title, change, names } of changesOf(servers)) {
    // The service remembers the list as it was before.
    const before = await listNotes(service)
    await change()
    const isApplied = async () =>
      String(await storedNames(databaseUrl)) === String(names)
    await until(isApplied, `${title} has been applied`)

    const etag = String(before.headers.etag)
    const after = await listNotes(service, { 'if-none-match': etag })
    t.equal(after.statusCode, 200, title)

    const listed = after.json<{ name: string }[]>()
    const listedNames = listed.map(({ name }) => name)
    t.same(listedNames, names, title)
  }
})
