import type { Test } from 'tap'

interface Timer {
  /** Milliseconds of the stopped clock. */
  dueAt: number
  /** Milliseconds from one call to the next; undefined for a single call. */
  period: number | undefined
  call: () => void
}

/** What the replaced functions return, as far as callers use it. */
type Handle = Timer & { ref: () => Handle; unref: () => Handle }

type Schedule = (call: () => void, milliseconds?: number) => Handle

/** A clock that only the test moves. */
class StoppedClock {
  #now = 0
  readonly #timers = new Set<Timer>()

  readonly setTimeout: Schedule = (call, milliseconds = 0) =>
    this.#add({ dueAt: this.#now + milliseconds, period: undefined, call })

  readonly setInterval: Schedule = (call, milliseconds = 0) =>
    this.#add({ dueAt: this.#now + milliseconds, period: milliseconds, call })

  readonly clear = (timer: Timer) => {
    this.#timers.delete(timer)
  }

  /** Lets this time pass: calls what is due, the earliest first. */
  pass(milliseconds: number): void {
    const end = this.#now + milliseconds
    for (;;) {
      const [next] = [...this.#timers].sort((a, b) => a.dueAt - b.dueAt)
      if (next === undefined || next.dueAt > end) break
      this.#now = next.dueAt
      this.#call(next)
    }
    this.#now = end
  }

  #add(timer: Timer): Handle {
    const handle: Handle = Object.assign(timer, {
      ref: () => handle,
      unref: () => handle
    })
    this.#timers.add(handle)

    return handle
  }

  #call(timer: Timer): void {
    if (timer.period === undefined) this.#timers.delete(timer)
    else timer.dueAt += timer.period
    timer.call()
  }
}

/** Puts a stopped clock in place of one kind of timers until the test ends. */
export function stopClock(
  t: Test,
  kind: 'setTimeout' | 'setInterval'
): StoppedClock {
  const clock = new StoppedClock()
  const clear = kind === 'setTimeout' ? 'clearTimeout' : 'clearInterval'
  t.intercept(globalThis, kind, { value: clock[kind] })
  t.intercept(globalThis, clear, { value: clock.clear })

  return clock
}
