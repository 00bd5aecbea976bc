import t, { type Test } from 'tap'
import {
  type ApiKeyCheck,
  type ValidKey
} from '../../../src/framework/keys/key.ts'
import { ApiKeyVerifier } from '../../../src/framework/keys/verifier.ts'
import { apiKeyPrefix, makeKey } from '../../support/notes.ts'

/** A clock that tests set, and a store with one key that counts its calls. */
function startVerifier(t: Test) {
  const state = { now: 1000, queries: 0, recordedUses: 0 }
  t.intercept(performance, 'now', { value: () => state.now })

  const valid: ValidKey = {
    id: 7n,
    root: 7n,
    state: 'valid',
    scopes: null,
    isUseRecorded: false
  }

  const store: { check: ApiKeyCheck } = { check: valid }
  const verifier = new ApiKeyVerifier(
    {
      find(hashes) {
        state.queries++
        return Promise.resolve(hashes.map(() => ({ ...store.check })))
      },
      recordUse() {
        state.recordedUses++
        store.check = { ...valid, isUseRecorded: true }
        return Promise.resolve([])
      }
    },
    apiKeyPrefix
  )

  const apiKey = makeKey()
  const check = () => verifier.check(apiKey)

  return { state, store, valid, verifier, check }
}

/** Lets what runs in the background end. */
async function settle() {
  for (let tick = 0; tick < 3; tick++) await new Promise(setImmediate)
}

t.test('requests with an unseen key share one look-up', async (t) => {
  const { state, check } = startVerifier(t)
  const checks = await Promise.all([check(), check()])
  t.match(checks, [
    { id: 7n, state: 'valid' },
    { id: 7n, state: 'valid' }
  ])
  await settle()
  t.same(state, { now: 1000, queries: 1, recordedUses: 1 })
})

t.test('a request with a trusted key does not wait', async (t) => {
  const { state, check } = startVerifier(t)
  await check()
  state.now += 899
  t.notOk(check() instanceof Promise)
  t.equal(state.queries, 1)
})

t.test('the use of a key is recorded in each minute', async (t) => {
  const { state, store, valid, check } = startVerifier(t)
  await check()
  await settle()
  t.match(state, { recordedUses: 1 })

  store.check = valid
  state.now += 60_000
  t.match(await check(), { state: 'valid' })
  await settle()
  t.match(state, { recordedUses: 2 })
})

t.test(
  'a stale key is looked up: a revoked one ends after 900 ms',
  async (t) => {
    const { state, store, valid, check } = startVerifier(t)
    await check()
    await settle()
    store.check = { ...valid, state: 'revoked' }
    state.now += 899
    t.match(await check(), { state: 'valid' })
    state.now += 2
    t.match(await check(), { state: 'revoked' })
  }
)

t.test('changed scopes of a key are noticed after 900 ms', async (t) => {
  const { state, store, valid, check } = startVerifier(t)
  await check()
  await settle()
  store.check = { ...valid, scopes: ['pets:read'] }
  state.now += 899
  t.match(await check(), { scopes: null })
  state.now += 2
  t.match(await check(), { scopes: ['pets:read'] })
})

t.test('a malformed key is never looked up', (t) => {
  const { state, verifier } = startVerifier(t)
  t.same(verifier.check('x'), { state: 'malformed' })
  t.equal(state.queries, 0)
  t.end()
})

t.test('a key that is not valid is looked up by each request', async (t) => {
  const { state, store, valid, check } = startVerifier(t)
  store.check = { state: 'unknown' }
  t.match(await check(), { state: 'unknown' })

  store.check = valid
  t.match(await check(), { state: 'valid' }, 'a new key works immediately')
  t.equal(state.queries, 2)
})

t.test('invented keys do not end the trust in a valid one', async (t) => {
  const { state, store, verifier, check } = startVerifier(t)
  await check()
  await settle()
  store.check = { state: 'unknown' }
  // More than are trusted.
  for (let count = 0; count < 11; count++) {
    const flood = Array.from({ length: 1000 }, async () =>
      verifier.check(makeKey())
    )
    await Promise.all(flood)
  }
  t.equal(state.queries, 12)
  t.notOk(check() instanceof Promise)
})

t.test(
  'invented keys share look-ups, of which one runs at a time',
  async (t) => {
    const sizes: number[] = []
    const running: (() => void)[] = []
    const verifier = new ApiKeyVerifier(
      {
        async find(hashes) {
          sizes.push(hashes.length)
          await new Promise<void>((resolve) => running.push(resolve))
          return hashes.map(() => ({ state: 'unknown' }))
        },
        recordUse: () => Promise.resolve([])
      },
      apiKeyPrefix
    )
    const first = verifier.check(makeKey())
    await settle()
    const flood = Array.from({ length: 250 }, async () =>
      verifier.check(makeKey())
    )
    await settle()
    t.same(sizes, [1])

    while (running.length > 0) {
      running.shift()?.()
      await settle()
    }
    t.same(sizes, [1, 250])
    t.same(await first, { state: 'unknown' })
    t.equal((await Promise.all(flood)).length, 250)
  }
)
