import t, { type Test } from 'tap'
import { keyVerifier } from '../../src/api-keys/cache.ts'
import { type KeyCheck, makeKey } from '../../src/api-keys/key.ts'

/** A verifier of one key, with a clock and a store that count what it does. */
function verifier(t: Test) {
  const key = makeKey()
  const stored: KeyCheck = { id: 7n, state: 'valid', isNoted: false }
  const state = { now: 1000, queries: 0, notes: 0 }
  t.intercept(performance, 'now', { value: () => state.now })
  const check = keyVerifier({
    find(hashes) {
      state.queries++
      return Promise.resolve(hashes.map(() => ({ ...stored })))
    },
    noteUse() {
      state.notes++
      stored.isNoted = true
      return Promise.resolve([])
    }
  })
  return { stored, state, check: () => check(key) }
}

t.test(
  'a key is looked up at once, then in the background every 400 ms, and its use noted once a minute',
  async (t) => {
    const { stored, state, check } = verifier(t)
    for (const found of await Promise.all([check(), check()]))
      t.match(found, { id: 7n, state: 'valid' })
    await new Promise(setImmediate)
    t.same(state, { now: 1000, queries: 1, notes: 1 })
    for (state.now = 1100; state.now < 61_000; state.now += 100) {
      t.notOk(check() instanceof Promise, 'a request does not wait')
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    }
    t.match(state, { queries: 151, notes: 1 })
    stored.isNoted = false
    state.now = 1_000_000
    t.match(await check(), { state: 'valid' })
    await new Promise(setImmediate)
    t.match(state, { queries: 152, notes: 2 })
  }
)

t.test(
  'a key that is no longer valid is trusted for less than a second',
  async (t) => {
    const { stored, state, check } = verifier(t)
    await check()
    stored.state = 'revoked'
    state.now += 900
    t.match(await check(), { state: 'revoked' })
  }
)
