import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { hedged } from '../../../src/framework/postgres/hedged.ts'
import { until } from '../../support/until.ts'

t.test('three attempts run at most; the last to fail is thrown', async (t) => {
  const fails: ((error: Error) => void)[] = []
  const result = hedged(() => new Promise((_, reject) => fails.push(reject)))
  await until(() => fails.length >= 3, 'three attempts run')
  // The timer of a fourth attempt would end before this one.
  await setTimeout(200)
  t.equal(fails.length, 3)

  for (const [index, fail] of fails.entries()) fail(new Error(`error ${index}`))
  await t.rejects(result, { message: 'error 2' })
})
