import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { hedged } from '../../../src/framework/postgres/hedged.ts'
import { until } from '../../support/until.ts'

/** What an attempt does: it never ends, or it ends when others have begun. */
type Attempt = 'frozen' | 'fails' | 'succeeds'

/** By what the attempts do: how many there are, and the outcome. */
const runs: [attempts: Attempt[], started: number, outcome: string][] = [
  [['succeeds'], 1, 'result 1'],
  [['fails'], 1, 'error 1'],
  [['frozen', 'fails', 'succeeds'], 3, 'result 3']
]

for (const [attempts, started, outcome] of runs)
  t.test(`${attempts.join(', ')}: ${outcome}`, async (t) => {
    let count = 0
    const read = () => {
      count++
      const attempt = attempts[count - 1]
      if (attempt === 'succeeds') return Promise.resolve(`result ${count}`)
      if (attempt === 'fails')
        return Promise.reject(new Error(`error ${count}`))
      return new Promise<string>(() => {})
    }

    const ended = await hedged(read).catch(({ message }: Error) => message)
    t.equal(ended, outcome)
    t.equal(count, started)
  })

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
