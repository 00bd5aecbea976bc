import t, { type Test } from 'tap'
import { keyVerifier } from '../../src/api-keys/cache.ts'
import { hashKey, isWellFormedKey, type KeyCheck, makeKey } from '../../src/api-keys/key.ts'
import { Unavailable } from '../../src/postgres/errors.ts'

t.test('a key has a prefix, 160 random bits and a checksum that exposes changes', (t) => {
  const key = makeKey()
  t.match(key, /^petcat_[0-9a-f]{48}$/)
  t.not(makeKey(), key)
  t.ok(isWellFormedKey(key))
  const changed = key.at(-9) === '0' ? '1' : '0'
  for (const wrong of [key.slice(0, -9) + changed + key.slice(-8), `${key}0`, '']) t.notOk(isWellFormedKey(wrong))
  t.end()
})

/** A verifier with a clock and a store that has one key, whose state can change, and that can be unavailable. */
function verifier(t: Test) {
  const key = makeKey()
  const known: KeyCheck = { id: 7n, state: 'valid', isNoted: false }
  const state = { now: 0, isDown: false, queries: 0, notes: 0 }
  t.intercept(performance, 'now', { value: () => state.now })
  const respond = <Result>(result: Result) =>
    state.isDown ? Promise.reject<Result>(new Unavailable(new Error('down'))) : Promise.resolve(result)
  const keys = keyVerifier({
    find(hashes) {
      state.queries++
      return respond(
        hashes.map((hash): KeyCheck => (hash === hashKey(key) ? { ...known } : { id: null, state: 'unknown' }))
      )
    },
    noteUse() {
      state.notes++
      known.isNoted = !state.isDown
      return respond(undefined)
    }
  })
  /** Whether a request with the key needs no query. */
  const isTrusted = () => !(keys.check(key, () => false) instanceof Promise)
  return { key, known, state, keys, isTrusted }
}

t.test('a valid key is looked up once, and is then remembered while it is in use', async (t) => {
  const { key, state, keys, isTrusted } = verifier(t)
  t.match(await Promise.all([keys.check(key), keys.check(key)]), [
    { id: 7n, state: 'valid' },
    { id: 7n, state: 'valid' }
  ])
  t.equal(state.queries, 1)
  for (state.now = 400; state.now < 5000; state.now += 400) {
    t.ok(isTrusted())
    await keys.refresh()
  }
  t.equal(state.queries, 13)
})

t.test('an unused key is not looked up again, but may be after any pause', async (t) => {
  const { key, state, keys } = verifier(t)
  await keys.check(key)
  await keys.refresh()
  state.now = 800
  await keys.refresh()
  t.equal(state.queries, 2)
  state.now = 1_000_000
  t.match(await keys.check(key, () => false), { state: 'valid' })
  t.equal(state.queries, 3)
})

t.test('malformed text costs no query, and an unknown key is not remembered', async (t) => {
  const { state, keys } = verifier(t)
  t.same(await keys.check('petcat_x'), { id: null, state: 'malformed' })
  t.equal(state.queries, 0)
  const unknown = makeKey()
  for (const queries of [1, 2]) {
    t.same(await keys.check(unknown), { id: null, state: 'unknown' })
    t.equal(state.queries, queries)
  }
  t.same(await keys.check(unknown, () => false), { id: null, state: 'unknown' })
  t.equal(state.queries, 2)
})

t.test('an invalid key is forgotten within a second: in use, and after a pause', async (t) => {
  for (const ended of ['revoked', 'expired'] as const) {
    const used = verifier(t)
    await used.keys.check(used.key)
    used.known.state = ended
    used.state.now = 400
    t.ok(used.isTrusted())
    await used.keys.refresh()
    t.match(await used.keys.check(used.key), { id: 7n, state: ended })

    const paused = verifier(t)
    await paused.keys.check(paused.key)
    paused.state.now = 900
    t.notOk(paused.isTrusted())
  }
})

t.test(
  'while the database is unavailable, a remembered key works until its age limit and is then rejected',
  async (t) => {
    const { key, state, keys, isTrusted } = verifier(t)
    await keys.check(key)
    state.isDown = true
    state.now = 500
    await keys.refresh()
    t.ok(isTrusted())
    state.now = 950
    await t.rejects(Promise.resolve(keys.check(key)), { message: 'the database is unavailable' })
    state.isDown = false
    t.match(await keys.check(key), { state: 'valid' })
  }
)

t.test('the use of a key is recorded once a minute', async (t) => {
  const { key, known, state, keys, isTrusted } = verifier(t)
  await keys.check(key)
  for (state.now = 0; state.now < 150_000; state.now += 400) {
    if (state.now % 60_000 === 0) known.isNoted = false
    isTrusted()
    await keys.refresh()
  }
  t.equal(state.notes, 3)
})
