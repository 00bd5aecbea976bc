import t from 'tap'
import { reportWait } from '../../src/framework/retry.ts'

const { retry } = await t.mockImport<
  typeof import('../../src/framework/retry.ts')
>('../../src/framework/retry.ts', {
  'node:timers/promises': { setTimeout: () => Promise.resolve() }
})

t.test('each new reason is reported once, until it succeeds', async (t) => {
  const messages = ['busy', 'busy', 'gone']
  const reports: unknown[] = []
  const attempt = () => {
    const message = messages.shift()
    return message === undefined
      ? Promise.resolve('done')
      : Promise.reject(new Error(message))
  }
  const report = (error: unknown) => reports.push(String(error))

  t.equal(await retry(attempt, { report }), 'done')
  t.same(reports, ['Error: busy', 'Error: gone'])
})

t.test(
  'an error that cannot pass ends it, as the last attempt does',
  async (t) => {
    for (const [attempts, options] of [
      [1, { isTemporary: () => false, maxAttempts: 9 }],
      [2, { maxAttempts: 2 }]
    ] as const) {
      let count = 0
      const attempt = () => {
        count++
        return Promise.reject(new Error('busy'))
      }
      const report = () => {}
      await t.rejects(retry(attempt, { report, ...options }), {
        message: 'busy'
      })
      t.equal(count, attempts)
    }
  }
)

t.test('a wait is reported once it takes ten seconds', async (t) => {
  const timers = t.capture(globalThis, 'setTimeout')
  const lines = t.capture(console, 'error')
  const waiting = reportWait('a lock', Promise.resolve('done'))
  const [timer] = timers()
  t.equal(timer?.args[1], 10_000)
  t.same(lines(), [])

  timer?.args[0]()
  t.match(lines(), [{ args: ['waiting for a lock'] }])
  t.equal(await waiting, 'done')
})

t.test('a short wait is not reported, and its timer ends', async (t) => {
  const before = process.getActiveResourcesInfo()
  t.equal(await reportWait('a lock', Promise.resolve('done')), 'done')
  t.same(process.getActiveResourcesInfo(), before)
})
