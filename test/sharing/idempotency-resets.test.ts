import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createDatabase, lockAwaited, lockTable, query } from '../support/database.ts'
import { type ResetPoint, startProxy } from '../support/proxy.ts'
import { createKeyed, Creates, createUntilStored } from '../support/resend.ts'
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
  const { random, pick } = randomizer(seed)
  const replicas = await Promise.all(
    [await startService(t, options), await startService(t, options)].map(async ({ url, key }) => {
      const proxy = await startProxy(t, url)
      proxy.state.resets = () => random(6) === 0
      return { url: `http://127.0.0.1:${proxy.port}`, key }
    })
  )
  // The same client on both: the key of the first replica.
  const key = String(replicas[0]?.key)
  const creates = new Creates()
  const failures: Record<string, number> = {}
  async function work() {
    while (creates.size < count) {
      const name = randomUUID()
      const create = async () => {
        const target = () => ({ url: pick(replicas).url, key })
        creates.record(name, await createUntilStored(target, name, name, failures))
      }
      await create()
      if (random(4) === 0) await create()
    }
  }
  await Promise.all(Array.from({ length: 16 }, work))
  t.same(creates.check(await query(databaseUrl, 'SELECT id, name FROM categories')), [])
  t.ok(failures['lost'], `${failures['lost']} connections were reset`)
})
