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

const pet = await client.POST('/pets', {
  body: { name: 'Bella', categoryId: created.data.id }
})
if (pet.error) throw new Error(pet.error.message)
console.log('created', pet.data.id, pet.data.name)

for (let query = 'limit=2'; query !== '';) {
  const page = await client.GET('/pets', { querySerializer: () => query })
  if (page.error) throw new Error(page.error.message)
  for (const { name } of page.data) console.log('listed', name)
  const link = page.response.headers.get('Link') ?? ''
  query = /<\?(.*)>; rel="next"/.exec(link)?.[1] ?? ''
}
