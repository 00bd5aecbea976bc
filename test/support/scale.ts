import { hash } from 'node:crypto'

/** The length of a long history: shortened by default, in full with `npm run soak`. */
export const scale = (full: number, shortened: number): number =>
  process.env['SOAK'] === undefined ? shortened : full

/** What the random choices of a test depend on. SEED repeats those of an earlier run. */
export const seed = Number(
  process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31)
)

/** Makes random choices that depend on a seed. */
export function randomizer(seed: number) {
  let drawn = 0
  const random = (limit: number) =>
    hash('sha256', `${seed} ${drawn++}`, 'buffer').readUInt32LE() % limit
  return {
    /** An integer from 0 below the limit. */
    random,
    pick: <Item>(items: readonly Item[]) => items[random(items.length)] as Item
  }
}
