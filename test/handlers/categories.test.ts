import t from 'tap'
import { query } from '../support/database.ts'
import { listCategories, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'

t.test('categories are listed with the ids that they got', async (t) => {
  const service = await startService(t)
  const createAs = async (category: object, body: string) =>
    t.match(await post(service, 'categories', category), {
      statusCode: 201,
      body
    })

  const described = '{"id":1,"name":"Rabbit","description":"Long ears"}'
  await createAs({ name: 'Rabbit', description: 'Long ears' }, described)
  const empty = '{"id":2,"name":"Rabbit","description":""}'
  await createAs({ name: 'Rabbit', description: '' }, empty)
  const without = '{"id":3,"name":"Rabbit"}'
  await createAs({ name: 'Rabbit' }, without)

  const body = `[${described},${empty},${without}]`
  t.match(await listCategories(service), { statusCode: 200, body })
})

t.test('the list is ordered by id, which is exact up to 2^63-1', async (t) => {
  const service = await startService(t)
  await query(
    service.databaseUrl,
    `
      INSERT INTO categories (id, name)
      VALUES
        (9223372036854775807, 'x'),
        (9007199254740993, 'x'),
        (3, 'x')
    `
  )

  t.equal(
    (await listCategories(service)).body,
    '[{"id":3,"name":"x"},' +
      '{"id":9007199254740993,"name":"x"},' +
      '{"id":9223372036854775807,"name":"x"}]'
  )
})

t.test('text is returned unchanged', async (t) => {
  const service = await startService(t)
  const texts = [
    ' a ',
    'e\u0301',
    'é',
    '🐇',
    '👩‍👩‍👧',
    '\u0001\u007f\b\f\r\t\n\u2028',
    '\ufeffx',
    '﷽',
    "'; DROP TABLE categories; --",
    '\\"</script>',
    '𐀀'.repeat(255)
  ]

  const categories = texts.map((text, index) => ({
    id: index + 1,
    name: text,
    description: text
  }))

  for (const { id, ...input } of categories) {
    const response = await post(service, 'categories', input)
    t.strictSame(response.json(), { id, ...input })
  }
  t.strictSame((await listCategories(service)).json(), categories)
})
