import { setTimeout } from 'node:timers/promises'

/** Milliseconds: more than anything takes on a busy machine. */
const patience = 180_000

/** Resolves when the condition holds, checked every 20 ms; rejects after three minutes. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string
): Promise<void> {
  const deadline = performance.now() + patience
  while (!(await condition())) {
    if (performance.now() > deadline)
      throw new Error(`Not within three minutes: ${what}`)
    await setTimeout(20)
  }
}
