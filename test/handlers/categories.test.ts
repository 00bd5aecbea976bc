import t from 'tap'
import { get, post } from '../support/requests.ts'
import { startService } from '../support/service.ts'

t.test('text is returned unchanged, and the list is in order', async (t) => {
  const service = await startService(t)
  const inputs = [
    ' a ',
    'e\u0301',
    '\ufeff\u0001\u007f\b\f\r\t\n\u2028',
    "'; DROP TABLE categories; --",
    '\\"</script>',
    '𐀀'.repeat(255)
  ].map((text) => ({ name: text, description: text }))
  const withoutDescription = [{ name: 'x', description: '' }, { name: 'x' }]
  const categories = [...inputs, ...withoutDescription].map((input, index) => ({
    id: index + 1,
    ...input
  }))

  for (const { id, ...input } of categories) {
    const response = await post(service, 'categories', input)
    t.strictSame(response.json(), { id, ...input })
  }
  t.strictSame((await get(service, 'categories')).json(), categories)
})
