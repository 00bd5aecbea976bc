import t, { type Test } from 'tap'
import { keyVerifier } from '../../src/api-keys/cache.ts'
import { hashKey, isWellFormedKey, type KeyCheck, makeKey } from '../../src/api-keys/key.ts'

t.test('a key has a prefix, 160 random bits and a checksum that exposes changes', (t) => {
  const key = makeKey()
  t.match(key, /^petcat_[0-9a-f]{48}$/)
  t.not(makeKey(), key)
  t.ok(isWellFormedKey(key))
  const changed = key.at(-9) === '0' ? '1' : '0'
  for (const wrong of [key.slice(0, -9) + changed + key.slice(-8), `${key}0`, '']) t.notOk(isWellFormedKey(wrong))
  t.end()
})

/** A verifier with a clock and a store that has one key, whose state can change. */
function verifier(t: Test) {
  const key = makeKey()
  const known: KeyCheck = { id: 7n, state: 'valid', isNoted: false }
  const state = { now: 1000, queries: 0, notes: 0 }
  t.intercept(performance, 'now', { value: () => state.now })
  const check = keyVerifier({
    find(hashes) {
      state.queries++
      return Promise.resolve(
        hashes.map((hash): KeyCheck => (hash === hashKey(key) ? { ...known } : { id: null, state: 'unknown' }))
      )
    },
    noteUse() {
      state.notes++
      known.isNoted = true
      return Promise.resolve([])
    }
  })
  /** Whether a request with the key needs no query. What it looks up in the background is done when this resolves. */
  const isTrusted = async () => {
    const isTrusted = !(check(key, () => false) instanceof Promise)
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    return isTrusted
  }
  return { key, known, state, check, isTrusted }
}

t.test('a valid key is looked up once, and in the background while it is in use', async (t) => {
  const { key, state, check, isTrusted } = verifier(t)
  for (const found of await Promise.all([check(key), check(key)])) t.match(found, { id: 7n, state: 'valid' })
  t.equal(state.queries, 1)
  for (state.now = 1100; state.now < 5000; state.now += 100) t.ok(await isTrusted())
  t.equal(state.queries, 10, 'every 400 ms')
  state.now = 1_000_000
  t.match(await check(key, () => false), { state: 'valid' }, 'it may be looked up after any pause')
  t.equal(state.queries, 11)
})

t.test('an invalid key is forgotten within a second: in use, and after a pause', async (t) => {
  for (const ended of ['revoked', 'expired'] as const) {
    const { key, known, state, check, isTrusted } = verifier(t)
    await check(key)
    known.state = ended
    state.now += 500
    t.ok(await isTrusted(), 'until it is looked up')
    t.match(await check(key), { id: 7n, state: ended })

    const paused = verifier(t)
    await paused.check(paused.key)
    paused.state.now += 900
    t.notOk(await paused.isTrusted())
  }
})

t.test('the use of a key is recorded once a minute', async (t) => {
  const { key, known, state, check, isTrusted } = verifier(t)
  await check(key)
  for (state.now = 1400; state.now < 150_000; state.now += 400) {
    if (state.now % 60_000 < 400) known.isNoted = false
    await isTrusted()
  }
  t.equal(state.notes, 3)
})
