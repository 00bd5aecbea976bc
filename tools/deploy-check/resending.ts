import type { Test } from 'tap'
import { startClients } from '../../test/support/resend.ts'
import { seed } from '../../test/support/scale.ts'

interface Category {
  id: string
  name: string
}

async function categoriesOf(url: string, key: string): Promise<Category[]> {
  const headers = { authorization: `Bearer ${key}` }
  const response = await fetch(`${url}/v1/categories`, { headers })
  return (await response.json()) as Category[]
}

/**
 * Starts eight clients that resend their creates until they are stored. They
 * end at the latest with the test.
 */
export async function startResending(t: Test, url: string, key: string) {
  const before = await categoriesOf(url, key)
  const earlier = new Set(before.map(({ id }) => id))
  const clients = startClients([{ url, key, resource: 'categories' }], seed, 8)
  t.teardown(() => clients.stop(() => Promise.resolve([])))

  /** Returns what is wrong with the stored rows. */
  const stop = () =>
    clients.stop(async () => {
      const rows = await categoriesOf(url, key)
      return rows
        .filter(({ id }) => !earlier.has(id))
        .map(({ id, name }) => ({ id, name }))
    })
  return { ...clients, stop }
}
