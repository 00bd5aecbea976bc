import t from 'tap'
import { holdKeys } from '../support/database.ts'
import { create, post, result } from '../support/requests.ts'
import { startService } from '../support/service.ts'

t.test('only a row that is stored uses an id', async (t) => {
  const service = await startService(t, {
    config: { DATABASE_TIMEOUT_MS: 1000 }
  })
  const keyed = (idempotencyKey: string) =>
    result(create(service, 'x', { 'idempotency-key': idempotencyKey }))
  const nextId = async () => (await create(service)).json<{ id: number }>().id

  t.equal(await keyed('one'), 201)
  t.equal(await nextId(), 2)

  for (let replay = 0; replay < 3; replay++) {
    t.equal(await keyed('one'), '201 replayed')
  }
  t.equal(await nextId(), 3, 'replays use none')

  const held = await holdKeys(t, service.databaseUrl)
  t.equal(await keyed('one'), 'idempotency_key_in_use')
  await held.release()
  t.equal(await nextId(), 4, 'a request that waits for its key uses none')

  const pet = { name: 'x', categoryId: 404 }
  t.equal(await result(post(service, 'pets', pet)), 'invalid_request')
  const stored = await post(service, 'pets', { ...pet, categoryId: 1 })
  t.equal(stored.json<{ id: number }>().id, 1, 'an invalid body uses none')
})
