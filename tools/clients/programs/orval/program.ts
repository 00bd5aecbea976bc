import { createCategory, createPet, listPets } from './client/client.ts'

const created = await createCategory({
  name: 'Rabbit',
  description: 'Long ears'
})
if (created.status !== 201) throw new Error(created.data.message)
console.log('created', String(created.data.id), created.data.name)

const pet = await createPet({ name: 'Bella', categoryId: created.data.id })
if (pet.status !== 201) throw new Error(pet.data.message)
console.log('created', String(pet.data.id), pet.data.name)

const limit = 2
for (let after: bigint | undefined = 0n; after !== undefined;) {
  const page = await listPets({ limit, after })
  if (page.status !== 200) throw new Error(page.data.message)
  for (const { name } of page.data) console.log('listed', name)
  after = page.data[limit - 1]?.id
}
