import { createClient } from './client/client/index.js'
import {
  createCategory,
  createMessage,
  listCategories
} from './client/index.js'
import { fetchWithRetries as fetch } from './retry.ts'

const { BASE_URL: baseUrl = '', API_KEY: key = '' } = process.env
const client = createClient({ baseUrl, fetch, auth: key })

const created = await createCategory({
  client,
  body: { name: 'Rabbit', description: 'Long ears' }
})
if (created.error) throw new Error(created.error.message)
console.log('created', created.data.id, created.data.name)

const list = await listCategories({ client })
for (const { id, name } of list.data ?? []) console.log('listed', id, name)

const message = await createMessage({ client, body: { message: 'Hello' } })
if (message.data) console.log(message.data.status, message.data.message)

const rejected = await createCategory({ client, body: { name: '' } })
if (rejected.error)
  console.log('rejected', rejected.error.status, rejected.error.code)

const stranger = createClient({ baseUrl })
const unknown = await listCategories({ client: stranger })
if (unknown.error)
  console.log('rejected', unknown.error.status, unknown.error.code)
