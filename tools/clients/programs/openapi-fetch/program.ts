import createClient from 'openapi-fetch'
import type { paths } from './client/schema.ts'
import { fetchWithRetries as fetch } from './retry.ts'

const { BASE_URL: baseUrl = '', API_KEY: key = '' } = process.env
const client = createClient<paths>({
  baseUrl,
  fetch,
  headers: { Authorization: `Bearer ${key}` }
})

const created = await client.POST('/categories', {
  body: { name: 'Rabbit', description: 'Long ears' }
})
if (created.error) throw new Error(created.error.message)
console.log('created', created.data.id, created.data.name)

const list = await client.GET('/categories')
for (const { id, name } of list.data ?? []) console.log('listed', id, name)

const rejected = await client.POST('/categories', { body: { name: '' } })
if (rejected.error)
  console.log('rejected', rejected.error.status, rejected.error.code)
