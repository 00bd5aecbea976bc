import type { Test } from 'tap'
import { type Endpoint, startClients } from '../../test/support/resend.ts'

const clientCount = 8

/** How many creates are stored before the commands run, and again after. */
const createCount = 50

/**
 * What requests may get while the service has no database, or one whose commits
 * wait for a standby that is gone: such a commit holds its Idempotency-Key.
 */
export const databaseOutage = [
  'unavailable',
  'outcome_unknown',
  'idempotency_key_in_use'
]

/** What they may get while nothing responds, too. */
export const outage = [...databaseOutage, 'lost']

interface Category {
  id: string
  name: string
}

async function categoriesOf({ url, key }: Endpoint): Promise<Category[]> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${url}/v1/categories`, { headers })
  return (await response.json()) as Category[]
}

/** Clients that create, until they are stopped. */
export type Clients = ReturnType<typeof startClients>

/** What runs while the clients create. */
export type Commands = (clients: Clients) => Promise<unknown>

/**
 * Runs commands under the load of eight clients with Idempotency-Keys, which
 * resend each create until it is stored. No create may be lost or doubled, and
 * no request fail.
 *
 * @param targets replicas of one service
 * @param expected the failures that the commands may cause
 */
export async function underLoad(
  t: Test,
  targets: [Endpoint, ...Endpoint[]],
  commands: Commands,
  expected: string[] = []
): Promise<void> {
  const [target] = targets
  const earlier = new Set((await categoriesOf(target)).map(({ id }) => id))
  const clients = startClients(
    targets.map(({ url, key }) => ({ url, key, resource: 'categories' })),
    clientCount
  )
  t.teardown(() => clients.stop(() => Promise.resolve([])))

  await clients.stores(createCount)
  await commands(clients)
  await clients.stores(createCount)

  const faults = await clients.stop(async () => {
    const rows = await categoriesOf(target)
    return rows
      .filter(({ id }) => !earlier.has(id))
      .map(({ id, name }) => ({ id, name }))
  })
  t.same(faults, [], 'no create is lost or doubled')
  const unexpected = Object.keys(clients.failures).filter(
    (code) => !expected.includes(code)
  )
  t.same(unexpected, [], 'no other request failed')
  const { creates, failures, losses } = clients
  t.comment(`${creates.size} creates, sent again:`, failures, ...losses)
}
