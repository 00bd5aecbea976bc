import { createCategory, listCategories } from './client/client.ts'

const created = await createCategory({
  name: 'Rabbit',
  description: 'Long ears'
})
if (created.status !== 201) throw new Error(created.data.message)
console.log('created', String(created.data.id), created.data.name)

const list = await listCategories()
if (list.status === 200)
  for (const { id, name } of list.data) console.log('listed', String(id), name)

const rejected = await createCategory({ name: '' })
if (rejected.status === 400)
  console.log('rejected', rejected.data.status, rejected.data.code)
