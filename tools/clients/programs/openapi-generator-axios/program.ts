import axios, { isAxiosError } from 'axios'
import {
  CategoriesApi,
  Configuration,
  type ModelError,
  QuickstartApi
} from './client/index.ts'
import { fetchWithRetries as fetch } from './retry.ts'

const { BASE_URL: basePath = '', API_KEY: accessToken = '' } = process.env
const retrying = axios.create({ adapter: 'fetch', env: { fetch } })
const configuration = new Configuration({ basePath, accessToken })
const categories = new CategoriesApi(configuration, basePath, retrying)
const quickstart = new QuickstartApi(configuration, basePath, retrying)

function printError(error: unknown) {
  if (!isAxiosError<ModelError>(error) || !error.response) throw error
  console.log('rejected', error.response.data.status, error.response.data.code)
}

const { data: created } = await categories.createCategory({
  name: 'Rabbit',
  description: 'Long ears'
})
console.log('created', created.id, created.name)

const { data: list } = await categories.listCategories()
for (const { id, name } of list) console.log('listed', id, name)

const { data: message } = await quickstart.createMessage({ message: 'Hello' })
console.log(message.status, message.message)

await categories.createCategory({ name: '' }).catch(printError)

const stranger = new CategoriesApi(new Configuration({ basePath }))
await stranger.listCategories().catch(printError)
