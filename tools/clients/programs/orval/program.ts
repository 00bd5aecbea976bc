import { createPet, listPets } from './client/client.ts'

const created = await createPet({ name: 'Bella', categoryId: 1n })
if (created.status !== 201) throw new Error(created.data.message)
console.log('created', String(created.data.id), created.data.name)

const limit = 2
for (let after: bigint | undefined = 0n; after !== undefined;) {
  const page = await listPets({ limit, after })
  if (page.status !== 200) throw new Error(page.data.message)
  for (const { name } of page.data) console.log('listed', name)
  after = page.data[limit - 1]?.id
}
