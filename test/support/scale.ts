import { hash } from 'node:crypto'

/**
 * The length of a long history: shortened by default, in full with
 * `npm run test:soak`.
 */
export const scale = (full: number, shortened: number): number =>
  process.env['SOAK'] === undefined ? shortened : full

/**
 * What the random choices of a test depend on. SEED repeats those of an earlier
 * run.
 */
export const seed = Number(
  process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31)
)

export type Randomizer = ReturnType<typeof randomizer>

/** Makes random choices that depend on a seed. */
export function randomizer(from: number) {
  let drawn = 0

  /** Returns an integer from 0 below the limit. */
  function random(limit: number): number {
    const digest = hash('sha256', `${from} ${drawn}`, 'buffer')
    drawn++
    return digest.readUInt32LE() % limit
  }

  function pick<Item>(items: readonly Item[]): Item {
    // An empty list is a mistake of the test.
    return items[random(items.length)]!
  }

  return { random, pick }
}
