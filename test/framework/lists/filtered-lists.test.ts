import t, { type Test } from 'tap'
import { FilteredLists } from '../../../src/framework/lists/filtered-lists.ts'
import { ListMemory } from '../../../src/framework/lists/list-memory.ts'
import { Database } from '../../../src/framework/postgres/database.ts'
import { createDatabase, silent } from '../../support/database.ts'
import { until } from '../../support/until.ts'

const config = { MAX_DATABASE_CONNECTIONS: 4, DATABASE_TIMEOUT_MS: 5000 }

/** Counts reads of the list, the first of which lasts until `fail`. */
class FailingDatabase extends Database {
  reads = 0
  fail = () => {}

  override read: Database['read'] = async (statement) => {
    if (statement.name?.includes('-of-notes') && ++this.reads === 1)
      await this.#failure()
    return super.read(statement)
  }

  #failure() {
    return new Promise<void>((_resolve, reject) => {
      this.fail = () => reject(new Error('cannot be read'))
    })
  }
}

async function start(t: Test) {
  const database = new FailingDatabase(await createDatabase(t), config, silent)
  t.teardown(() => database.close())
  const notes = { table: 'notes', orderColumn: 'id', itemJson: 'id::text' }
  const lists = new FilteredLists(database, new ListMemory(2 ** 20), notes, [])

  return { database, lists }
}

t.test(
  'requests that wait while a read fails share the list with later ones',
  async (t) => {
    const { database, lists } = await start(t)
    const failing = lists.of({}).current()
    await until(() => database.reads === 1, 'the list is being read')
    const waiting = lists.of({}).current()

    database.fail()
    await t.rejects(failing, { message: 'cannot be read' })
    const later = lists.of({}).current()

    t.equal(await later, await waiting)
    t.equal(database.reads, 2, 'the one that failed, and one for both')
  }
)
