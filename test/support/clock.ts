import { mock } from 'node:test'
import type { Test } from 'tap'

/** Stops the clock of setInterval until the test ends. */
export function stopClock(t: Test) {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())

  return {
    /** Lets milliseconds pass: calls what is due, the earliest first. */
    pass: (milliseconds: number) => mock.timers.tick(milliseconds)
  }
}
