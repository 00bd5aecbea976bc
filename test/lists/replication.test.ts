import t, { type Test } from 'tap'
import { query } from '../support/database.ts'
import { listNotes, startNotes, storedNames } from '../support/notes.ts'
import { startPostgres } from '../support/postgres.ts'
import { until } from '../support/until.ts'

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

t.test('a list shows what logical replication applies', async (t) => {
  const { publish, subscribe, subscriber } = await startServers(t)
  const service = await startNotes(t, { databaseUrl: subscriber })
  const insert = (name: string) =>
    publish(`INSERT INTO notes (name) VALUES ('${name}')`)
  await insert('a')

  const steps = [
    { what: 'the initial copy', run: subscribe, names: ['a'] },
    { what: 'an insert', run: () => insert('b'), names: ['a', 'b'] },
    { what: 'another insert', run: () => insert('c'), names: ['a', 'b', 'c'] },
    {
      what: 'an update',
      run: () => publish("UPDATE notes SET name = 'd' WHERE id = 1"),
      names: ['d', 'b', 'c']
    },
    {
      what: 'a delete',
      run: () => publish('DELETE FROM notes WHERE id = 1'),
      names: ['b', 'c']
    },
    {
      what: 'a truncate',
      run: () => publish('TRUNCATE notes CASCADE'),
      names: []
    }
  ]

  for (const { what, run, names } of steps) {
    // The service remembers the list as it was before.
    const before = await listNotes(service)
    await run()
    const isApplied = async () =>
      String(await storedNames(subscriber)) === String(names)
    await until(isApplied, `${what} has been applied`)

    const etag = String(before.headers.etag)
    const after = await listNotes(service, { 'if-none-match': etag })
    t.equal(after.statusCode, 200, what)
    const listed = after.json<{ name: string }[]>()
    t.same(
      listed.map(({ name }) => name),
      names,
      what
    )
  }
})
