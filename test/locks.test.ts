// A table that another transaction has locked delays the operations that need
// it, and no others.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { makeDeleteExpiredIdempotencyKeys } from '../src/creates/expired-idempotency-keys.ts'
import {
  createDatabase,
  lockTable,
  waitForLockWaiters
} from './support/database.ts'
import {
  createCategory,
  get,
  idempotencyKey,
  listCategories,
  statusOrCode,
  post
} from './support/requests.ts'
import { startService } from './support/service.ts'

const databaseUrl = await createDatabase(t)
const service = await startService(t, { databaseUrl })
const pet = { name: 'x', categoryId: 1 }
await createCategory(service)
await post(service, 'pets', pet)

let creates = 0
const newIdempotencyKey = () => idempotencyKey(String(creates++))

/** The tables that each operation needs, beside that of the API keys. */
const operations = [
  ['categories', () => listCategories(service)],
  ['categories', () => createCategory(service)],
  [
    'categories idempotency_keys',
    () => createCategory(service, 'x', newIdempotencyKey())
  ],
  [
    'messages idempotency_keys',
    () => post(service, 'messages', { message: 'x' }, newIdempotencyKey())
  ],
  ['pets', () => get(service, 'pets')],
  ['pets', () => get(service, 'pets/1')],
  ['pets categories', () => post(service, 'pets', pet)],
  [
    'pets categories idempotency_keys',
    () => post(service, 'pets', pet, newIdempotencyKey())
  ],
  ['orders', () => get(service, 'store/orders')],
  ['applied_migrations', () => service.app.inject('/readyz')]
] as const

const isSuccess = (one: string | number) => /^20/.test(String(one))

const tables = new Set(operations.flatMap(([needed]) => needed.split(' ')))

for (const table of tables) {
  t.test(`a lock of ${table} delays no other operation`, async (t) => {
    const { rollBack } = await lockTable(t, databaseUrl, table)
    const isBlocked = ([needed]: (typeof operations)[number]) =>
      needed.split(' ').includes(table)
    const blocked = operations.filter(isBlocked)
    const others = operations.filter((one) => !isBlocked(one))

    let isOver = false
    const refusals = new Set<string | number>()
    /** Sends a request whenever the last one was refused. */
    async function insist(send: (typeof operations)[number][1]) {
      while (!isOver) refusals.add(await statusOrCode(send()))
    }
    const insisting = blocked.flatMap(([, send]) =>
      Array.from({ length: 10 }, () => insist(send))
    )
    await waitForLockWaiters(databaseUrl, blocked.length)

    const responses = others.flatMap(([, send]) =>
      Array.from({ length: 10 }, () => statusOrCode(send()))
    )
    const outcomes = new Set(await Promise.all(responses))
    t.ok([...outcomes].every(isSuccess), [...outcomes].join(' '))
    isOver = true
    await Promise.all(insisting)
    t.same([...refusals], ['unavailable'])

    await rollBack()
    for (const [, send] of blocked)
      t.match(String(await statusOrCode(send())), /^20/)
  })
}

t.test('the documents say how many connections a replica uses', (t) => {
  makeDeleteExpiredIdempotencyKeys(service.database)
  const statements = [...service.database.statements.values()]
  const sum = statements.reduce((total, one) => total + one.concurrency, 0)
  const has = (file: string, text: string) =>
    t.match(readFileSync(file, 'utf8'), text)
  has('docs/growing.md', `${2 * sum} for each replica during an upgrade`)
  has('docs/decisions.md', `${sum} in all`)
  has('docker-compose.yml', `${sum} for each of eight containers`)
  t.end()
})
