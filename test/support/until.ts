import { setTimeout } from 'node:timers/promises'

/** Seconds to wait for anything: a busy machine may need most of them. */
export const patience = Number(process.env['TEST_PATIENCE_SECONDS'] ?? 60)

/** Milliseconds between two looks at a condition. */
const interval = 20

/**
 * Resolves when the condition holds, with its value.
 *
 * @param what the condition in words, for the error
 * @param seconds to wait, if what is awaited may take more than a moment;
 *   TEST_PATIENCE_SECONDS if that is longer
 * @throws Error if the condition does not hold within this time
 */
export async function until<Value>(
  condition: () => Value | Promise<Value>,
  what: string,
  seconds = 0
): Promise<NonNullable<Value>> {
  const limit = Math.max(seconds, patience)
  const deadline = performance.now() + limit * 1000

  for (;;) {
    const value = await condition()
    if (value) return value
    if (performance.now() > deadline)
      throw new Error(`Not within ${limit} s: ${what}`)
    await setTimeout(interval)
  }
}
