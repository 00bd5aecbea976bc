import type { Test } from 'tap'
import { startClients } from '../../test/support/resend.ts'
import { seed } from '../../test/support/scale.ts'

/** An installation, and a key of its clients. */
export interface Target {
  url: string
  key: string
}

const clientCount = 8

/** How many creates are stored before the commands run, and again after. */
const createCount = 50

/** What requests may get while the service has no database. */
export const databaseOutage = ['unavailable', 'outcome_unknown']

/** What they may get while nothing responds, too. */
export const outage = [...databaseOutage, 'lost']

interface Category {
  id: string
  name: string
}

async function categoriesOf({ url, key }: Target): Promise<Category[]> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${url}/v1/categories`, { headers })
  return (await response.json()) as Category[]
}

/**
 * Starts clients that create categories, until they are stopped. They end at
 * the latest with the test.
 */
async function startCreating(t: Test, target: Target) {
  const before = await categoriesOf(target)
  const earlier = new Set(before.map(({ id }) => id))
  const targets = [{ ...target, resource: 'categories' }]
  const clients = startClients(targets, seed, clientCount)
  t.teardown(() => clients.stop(() => Promise.resolve([])))

  /** Returns what is wrong with the stored rows. */
  const stop = () =>
    clients.stop(async () => {
      const rows = await categoriesOf(target)
      return rows
        .filter(({ id }) => !earlier.has(id))
        .map(({ id, name }) => ({ id, name }))
    })
  return { ...clients, stop }
}

export type Clients = Awaited<ReturnType<typeof startCreating>>

/**
 * Runs commands under the load of eight clients with Idempotency-Keys, which
 * resend each create until it is stored. No create may be lost or doubled, and
 * no request fail.
 *
 * @param expected the failures that the commands may cause
 */
export async function underLoad(
  t: Test,
  target: Target,
  run: (clients: Clients) => Promise<unknown>,
  expected: string[] = []
): Promise<void> {
  const clients = await startCreating(t, target)
  await clients.stores(createCount)
  await run(clients)
  await clients.stores(createCount)

  t.same(await clients.stop(), [], 'no create is lost or doubled')
  const failures = Object.entries(clients.failures)
  const unexpected = failures.filter(([code]) => !expected.includes(code))
  t.same(Object.fromEntries(unexpected), {}, 'no other request failed')
  const { creates, losses } = clients
  t.comment(`${creates.size} creates, sent again:`, clients.failures, ...losses)
}
