import t from 'tap'
import { Statements } from '../../../src/framework/postgres/statements.ts'
import { sharedReader } from '../../../src/framework/rows/shared-reader.ts'
import { hold } from '../../support/hold.ts'

t.test(
  'a request that waits longer than DATABASE_TIMEOUT_MS is rejected',
  async (t) => {
    let now = 0
    t.intercept(performance, 'now', { value: () => now })

    const started = hold()
    const running = hold()
    const database = {
      timeoutMs: 1000,
      statements: new Statements(),
      async read() {
        started.release()
        await running.held
        return []
      }
    }
    const read = sharedReader(database, {
      name: 'toys',
      inputTypes: { id: 'bigint' },
      text: 'SELECT'
    })

    const first = read({ id: 1 })
    await started.held
    const second = read({ id: 2 })
    now = 2000
    running.release()

    await t.rejects(second, { code: 'overloaded' })
    await first
  }
)
