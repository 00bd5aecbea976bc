import { setTimeout } from 'node:timers/promises'

/** Milliseconds: more than anything here takes on a machine that is busy with other work. */
const patience = 60_000

/** Resolves when the condition holds, which it looks at every 20 ms; rejects when that takes a minute. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + patience
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`It did not happen within a minute that ${what}`)
    await setTimeout(20)
  }
}
