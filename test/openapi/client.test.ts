import createClient from 'openapi-fetch'
import t from 'tap'
import type { paths } from '../../generated/client.ts'
import { startService } from '../support/service.ts'

t.test('a client made from the document lists and creates, and has typed errors', async (t) => {
  const { url, auth } = await startService(t)
  const client = createClient<paths>({ baseUrl: `${url}/v1`, headers: auth })
  const created = await client.POST('/categories', { body: { name: 'Rabbit' } })
  t.equal(created.response.status, 201)
  t.same(created.data, { id: 1, name: 'Rabbit' })
  t.same((await client.GET('/categories')).data, [{ id: 1, name: 'Rabbit' }])
  const refused = await client.POST('/categories', { body: { name: '' } })
  t.equal(refused.error?.code, 'invalid_request')
  const stranger = createClient<paths>({ baseUrl: `${url}/v1` })
  t.equal((await stranger.GET('/categories')).error?.status, 401)
})
