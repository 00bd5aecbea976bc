import t from 'tap'
import { query } from '../support/database.ts'
import { list, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'

t.test(
  'categories are listed with the ids that the service assigned, also two with the same name',
  async (t) => {
    const service = await startService(t)
    t.equal((await list(service)).body, '[]')
    const rows: string[] = []
    for (const more of [
      { description: 'Long ears' },
      { description: '' },
      {}
    ]) {
      const category = { name: 'Rabbit', ...more }
      const row = JSON.stringify({ id: rows.length + 1, ...category })
      t.match(await post(service, 'categories', category), {
        statusCode: 201,
        body: row
      })
      rows.push(row)
    }
    t.match(await list(service), { statusCode: 200, body: `[${rows.join()}]` })
  }
)

t.test(
  'the list is ordered by id, and ids are exact up to 2^63-1',
  async (t) => {
    const service = await startService(t)
    const ids = ['9223372036854775807', '9007199254740993', '3']
    for (const id of ids)
      await query(
        service.databaseUrl,
        `INSERT INTO categories (id, name) VALUES (${id}, 'x')`
      )
    const rows = ids.reverse().map((id) => `{"id":${id},"name":"x"}`)
    t.equal((await list(service)).body, `[${rows.join()}]`)
  }
)

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
  for (const { id, ...payload } of categories) {
    t.strictSame((await post(service, 'categories', payload)).json(), {
      id,
      ...payload
    })
  }
  t.strictSame((await list(service)).json(), categories)
})
