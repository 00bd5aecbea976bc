import t, { type Test } from 'tap'
import type { ApiKeyCheck, ValidKey } from '../../../src/framework/keys/key.ts'
import { ApiKeyVerifier } from '../../../src/framework/keys/verifier.ts'
import { apiKeyPrefix, makeKey } from '../../support/notes.ts'

const valid: ValidKey = {
  id: 7n,
  root: 7n,
  state: 'valid',
  scopes: null,
  isUseRecorded: false
}

/** A clock and a store that tests set. It records its calls. */
function start(t: Test) {
  const state = {
    now: 1000,
    check: valid as ApiKeyCheck,
    lookUps: 0,
    recordedUses: 0
  }
  t.intercept(performance, 'now', { value: () => state.now })

  const store = {
    async find(hashes: string[]) {
      state.lookUps++
      await new Promise(setImmediate)
      return hashes.map(() => ({ ...state.check }))
    },
    recordUse() {
      state.recordedUses++
      return Promise.resolve([])
    }
  }
  const verifier = new ApiKeyVerifier(store, apiKeyPrefix)
  const apiKey = makeKey()
  const flood = (count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => verifier.check(makeKey()))
    )

  return { state, verifier, check: () => verifier.check(apiKey), flood }
}

t.test('a valid key is trusted for 900 ms, its use recorded', async (t) => {
  const { state, check } = start(t)
  for (const change of [{ state: 'revoked' }, { scopes: ['pets:read'] }]) {
    state.check = valid
    t.match(await check(), valid)
    state.check = { ...valid, ...change } as ApiKeyCheck
    state.now += 899
    t.match(check(), valid, 'without a look-up')
    state.now += 2
    t.match(await check(), change)
    state.now += 901
  }
  await new Promise(setImmediate)
  t.equal(state.recordedUses, 3)
})

t.test('another key is not trusted', async (t) => {
  const { state, verifier, check } = start(t)
  t.same(verifier.check('x'), { state: 'malformed' })
  t.equal(state.lookUps, 0)

  state.check = { state: 'unknown' }
  t.match(await check(), { state: 'unknown' })
  state.check = valid
  t.match(await check(), valid, 'a new key works immediately')
})

t.test('invented keys share look-ups, and end no trust', async (t) => {
  const { state, check, flood } = start(t)
  await check()
  state.check = { state: 'unknown' }
  // More than are trusted.
  for (let count = 0; count < 11; count++) await flood(1000)
  t.equal(state.lookUps, 12)
  t.match(check(), valid)
})
