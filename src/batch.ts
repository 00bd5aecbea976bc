import { setImmediate } from 'node:timers/promises'

/**
 * Too many calls are waiting, or this one waited for too long. It had no effect
 * and can be repeated.
 */
export class OverloadedError extends Error {
  readonly code = 'overloaded'
  override readonly message =
    'too many calls are waiting, or this one waited too long'
}

interface Caller<Result> {
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

interface Waiting<Item, Result> {
  item: Item
  /** The time, as of performance.now(), at which it has waited too long. */
  deadline: number
  /** The first, and those that share its item. */
  callers: Caller<Result>[]
}

/** How many items may wait. A replica accepts fewer connections than this. */
const maxWaiting = 2500

export interface BatchOptions {
  /**
   * Milliseconds that an item may wait. It is checked when a run begins: if the
   * item has waited for longer, its calls reject with OverloadedError.
   */
  maxWaitMs: number
  /** Maximum number of runs at the same time. */
  maxRuns: number
  /** Maximum number of items in a run. */
  maxSize?: number
  /**
   * Whether calls with equal items share one of them, and its result. Items are
   * equal if their JSON is.
   */
  sharesEqual?: boolean
}

/**
 * Turns a function for many items into a function for a single item. For
 * example, 64 requests that arrive while a statement runs share the next
 * statement.
 *
 * Calls share a run, in their order, if they wait while `maxRuns` runs are in
 * progress, or arrive in the same tick. A run that has started takes no further
 * call, so it sees all that was done before its calls.
 *
 * @param run processes all items and returns their results in the same order;
 *   if it rejects, or returns another number of results, the calls of its items
 *   reject
 */
export function batch<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  { maxWaitMs, maxRuns, maxSize = maxWaiting, sharesEqual }: BatchOptions
): (item: Item) => Promise<Result> {
  /** The oldest are first. */
  const waiting = new Map<unknown, Waiting<Item, Result>>()
  let runs = 0

  /** Runs until no call is waiting. Never rejects. */
  async function runAll(): Promise<void> {
    runs++

    while (waiting.size > 0) {
      // Calls of the same tick share a run.
      await setImmediate()
      const taken = take()
      if (taken.length === 0) continue
      try {
        const results = await run(taken.map(({ item }) => item))
        if (results.length !== taken.length)
          throw new Error(`${taken.length} items had ${results.length} results`)
        taken.forEach(({ callers }, index) => {
          // A result may be undefined, so `results[index]` has the right type.
          for (const { resolve } of callers) resolve(results[index] as Result)
        })
      } catch (error) {
        rejectAll(taken, error)
      }
    }

    runs--
  }

  /** Takes the items of the next run, and rejects those that are too late. */
  function take(): Waiting<Item, Result>[] {
    const now = performance.now()
    const taken: Waiting<Item, Result>[] = []
    for (const [identity, one] of waiting) {
      if (taken.length === maxSize) break
      waiting.delete(identity)
      if (one.deadline < now) rejectAll([one], new OverloadedError())
      else taken.push(one)
    }

    return taken
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const caller = { resolve, reject }
      const identity = sharesEqual ? JSON.stringify(item) : caller
      const equal = waiting.get(identity)
      if (equal !== undefined) {
        equal.callers.push(caller)
        return
      }
      if (waiting.size >= maxWaiting) {
        reject(new OverloadedError())
        return
      }
      const deadline = performance.now() + maxWaitMs
      waiting.set(identity, { item, deadline, callers: [caller] })
      if (runs < maxRuns) void runAll()
    })
}

function rejectAll<Item, Result>(
  items: Waiting<Item, Result>[],
  error: unknown
): void {
  for (const { callers } of items)
    for (const { reject } of callers) reject(error)
}
