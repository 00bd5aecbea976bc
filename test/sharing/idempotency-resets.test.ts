import t from 'tap'
import { createDatabase, lockAwaited, lockTable, query } from '../support/database.ts'
import { type ResetPoint, startProxy } from '../support/proxy.ts'
import { createKeyed, startClients } from '../support/resend.ts'
import { randomizer, scale, seed } from '../support/scale.ts'
import { startService } from '../support/service.ts'

const resetPoints: ResetPoint[] = ['before the request', 'after the request', 'before the response']

t.test('a create whose connection is reset is stored once when it is sent again', async (t) => {
  const databaseUrl = await createDatabase(t)
  const service = await startService(t, { databaseUrl })
  const rows = (name: string) => query(databaseUrl, 'SELECT FROM categories WHERE name = $1', [name])
  for (const resetPoint of resetPoints) {
    const proxy = await startProxy(t, service.url)
    const target = { url: `http://127.0.0.1:${proxy.port}`, key: service.key }
    const create = () => createKeyed(target, resetPoint.replaceAll(' ', '-'), resetPoint)
    const lock = resetPoint === 'after the request' ? await lockTable(t, databaseUrl, 'categories') : undefined
    proxy.state.resets = (point) => point === resetPoint
    await t.rejects(create(), resetPoint)
    proxy.state.resets = () => false
    if (lock === undefined) t.equal((await rows(resetPoint)).length, resetPoint === 'before the response' ? 1 : 0)
    else await lockAwaited(databaseUrl)
    const again = create()
    await lock?.release()
    t.match(await again, { status: 201, isReplayed: resetPoint !== 'before the request' })
    t.equal((await rows(resetPoint)).length, 1)
  }
})

const count = scale(5000, 200)

t.test(`${count} creates are stored once through resets at random points (seed ${seed})`, async (t) => {
  const databaseUrl = await createDatabase(t)
  const options = { databaseUrl, config: { RATE_LIMIT_MAX: 0 } }
  const { random } = randomizer(seed)
  const services = [await startService(t, options), await startService(t, options)]
  const key = String(services[0]?.key)
  const targets = await Promise.all(
    services.map(async ({ url }) => {
      const proxy = await startProxy(t, url)
      proxy.state.resets = () => random(6) === 0
      return { url: `http://127.0.0.1:${proxy.port}`, key }
    })
  )
  const clients = startClients(targets, seed)
  await clients.stores(count)
  t.same(await clients.stop(() => query(databaseUrl, 'SELECT id, name FROM categories')), [])
  t.ok(clients.failures['lost'], 'connections were reset')
})
