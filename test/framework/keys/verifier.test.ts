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

t.test(
  'a request with a trusted key never waits, and the key is looked up every 400 ms',
  async (t) => {
    const { state, check } = startVerifier(t)
    await check()
    await settle()
    for (state.now = 1100; state.now < 61_000; state.now += 100) {
      t.notOk(check() instanceof Promise)
      await settle()
    }
    t.match(state, { queries: 151, recordedUses: 1 })
  }
)

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
    state.now += 1
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
  state.now += 1
  t.match(await check(), { scopes: ['pets:read'] })
})

t.test('a key that is not used for an hour is forgotten', async (t) => {
  const { state, verifier, check } = startVerifier(t)
  const unused = makeKey()
  const isUnseen = async () => {
    let isAsked = false
    await verifier.check(unused, () => {
      isAsked = true
      return false
    })

    return isAsked
  }

  const refresh = async () => {
    await check()
    await check()
    await settle()
  }

  t.equal(await isUnseen(), true)
  state.now += 3_599_999
  await refresh()
  t.equal(await isUnseen(), false)

  state.now += 3_600_000
  await refresh()
  t.equal(await isUnseen(), true)
})

t.test('a malformed key is never looked up', (t) => {
  const { state, verifier } = startVerifier(t)
  t.same(verifier.check('x'), { state: 'malformed' })
  t.equal(state.queries, 0)
  t.end()
})

t.test(
  'floods are looked up 100 at a time, and do not delay another client',
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
    const isFlooding = () => true
    const endRuns = () => running.splice(0).forEach((end) => end())

    const flood = Array.from({ length: 250 }, async () =>
      verifier.check(makeKey(), isFlooding)
    )
    await settle()
    t.same(sizes, [100])

    const client = verifier.check(makeKey())
    await settle()
    t.same(sizes, [100, 1], 'its look-up waits for none of the flood')

    for (let run = 0; run < 3; run++) {
      endRuns()
      await settle()
    }
    t.same(sizes, [100, 1, 100, 50])
    t.same(await client, { state: 'unknown' })
    t.equal((await Promise.all(flood)).length, 250)
  }
)
