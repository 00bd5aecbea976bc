import t from 'tap'
import { reportWait, retry } from '../../src/framework/retry.ts'

t.test('each new reason is reported once', async (t) => {
  const messages = ['busy', 'busy', 'gone']
  const reports: unknown[] = []
  const result = await retry(
    () => {
      const message = messages.shift()
      return message === undefined
        ? Promise.resolve('done')
        : Promise.reject(new Error(message))
    },
    {
      report: (error) => reports.push(String(error))
    }
  )

  t.equal(result, 'done')
  t.same(reports, ['Error: busy', 'Error: gone'])
})

t.test('a reason that stays is reported every minute', async (t) => {
  const module = await t.mockImport<
    typeof import('../../src/framework/retry.ts')
  >('../../src/framework/retry.ts', {
    'node:timers/promises': { setTimeout: () => Promise.resolve() }
  })
  let now = 0
  t.intercept(performance, 'now', { value: () => now })
  let reports = 0
  // Six seconds, such as the timeout of a statement.
  const attempt = () => {
    now += 6000
    return now > 150_000 ? Promise.resolve() : Promise.reject(new Error('busy'))
  }

  await module.retry(attempt, { report: () => reports++ })
  t.equal(reports, 3)
})

t.test('an error that cannot pass ends it', async (t) => {
  await t.rejects(
    retry(() => Promise.reject(new Error('wrong')), {
      report: () => t.fail('reported'),
      isTemporary: () => false
    }),
    { message: 'wrong' }
  )
})

t.test('the last attempt ends it', async (t) => {
  let attempts = 0
  const attempt = () => {
    attempts++
    return Promise.reject(new Error('busy'))
  }
  const options = { report: () => undefined, maxAttempts: 2 }

  await t.rejects(retry(attempt, options), { message: 'busy' })
  t.equal(attempts, 2)
})

t.test('a wait is reported once it takes ten seconds', async (t) => {
  const timers = t.capture(globalThis, 'setTimeout')
  const lines = t.capture(console, 'error')
  let resolve: (result: string) => void = () => {}
  const promise = new Promise<string>((resolvePromise) => {
    resolve = resolvePromise
  })
  const waiting = reportWait('a lock', promise)
  const [timer] = timers()
  t.equal(timer?.args[1], 10_000)
  t.same(lines(), [])

  timer?.args[0]()
  t.match(lines(), [{ args: ['waiting for a lock'] }])
  resolve('done')
  t.equal(await waiting, 'done')
})

t.test('a short wait is not reported, and its timer ends', async (t) => {
  const before = process.getActiveResourcesInfo()
  t.equal(await reportWait('a lock', Promise.resolve('done')), 'done')
  t.same(process.getActiveResourcesInfo(), before)
})
