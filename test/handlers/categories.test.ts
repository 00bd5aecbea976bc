import t from 'tap'
import { query } from '../support/database.ts'
import { get, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const service = await startService(t)

t.test('the list is ordered by id, which is exact up to 2^63-1', async (t) => {
  const { databaseUrl } = service
  t.teardown(() => query(databaseUrl, 'TRUNCATE categories CASCADE'))
  await query(
    databaseUrl,
    `INSERT INTO categories (id, name)
     VALUES (9223372036854775807, 'x'), (9007199254740993, 'x'), (3, 'x')`
  )

  t.equal(
    (await get(service, 'categories')).body,
    '[{"id":3,"name":"x"},' +
      '{"id":9007199254740993,"name":"x"},' +
      '{"id":9223372036854775807,"name":"x"}]'
  )
})

t.test('text is returned unchanged', async (t) => {
  const texts = [
    ' a ',
    'e\u0301',
    '\ufeff\u0001\u007f\b\f\r\t\n\u2028',
    "'; DROP TABLE categories; --",
    '\\"</script>',
    '𐀀'.repeat(255)
  ]

  const inputs = [
    ...texts.map((text) => ({ name: text, description: text })),
    { name: 'x', description: '' },
    { name: 'x' }
  ]
  const categories = inputs.map((input, index) => ({ id: index + 1, ...input }))

  for (const { id, ...input } of categories) {
    const response = await post(service, 'categories', input)
    t.strictSame(response.json(), { id, ...input })
  }
  t.strictSame((await get(service, 'categories')).json(), categories)
})
