import {
  createCategory,
  createMessage,
  listCategories
} from './client/client.ts'

const created = await createCategory({
  name: 'Rabbit',
  description: 'Long ears'
})
if (created.status !== 201) throw new Error(created.data.message)
console.log('created', String(created.data.id), created.data.name)

const list = await listCategories()
if (list.status === 200)
  for (const { id, name } of list.data) console.log('listed', String(id), name)

const message = await createMessage({ message: 'Hello' })
if (message.status === 202)
  console.log(message.data.status, message.data.message)

const rejected = await createCategory({ name: '' })
if (rejected.status === 400)
  console.log('rejected', rejected.data.status, rejected.data.code)

const unknown = await listCategories({
  headers: { Authorization: 'Bearer petcat_unknown' }
})
if (unknown.status === 401)
  console.log('rejected', unknown.data.status, unknown.data.code)
