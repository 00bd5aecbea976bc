import { setImmediate } from 'node:timers/promises'

/**
 * Too many calls are waiting, or this one waited for too long. It had no effect
 * and can be repeated.
 */
export class Overloaded extends Error {
  readonly code = 'overloaded'
  override readonly message =
    'too many calls are waiting, or this one waited too long'
}

interface Call<Item, Result> {
  item: Item
  /** The time, as of performance.now(), at which it has waited too long. */
  deadline: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/** How many calls may wait. A replica accepts fewer connections than this. */
const maxWaiting = 2500

export interface BatchOptions {
  /**
   * Milliseconds that a call may wait. It is checked when a run begins: a call
   * that has waited for longer then rejects with Overloaded.
   */
  maxWaitMs: number
  /** Maximum number of runs at the same time. */
  maxRuns: number
  /** Maximum number of items in a run. */
  maxSize?: number
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
  { maxWaitMs, maxRuns, maxSize = maxWaiting }: BatchOptions
): (item: Item) => Promise<Result> {
  const waiting: Call<Item, Result>[] = []
  let runs = 0

  /** Runs until no call is waiting. Never rejects. */
  async function runAll(): Promise<void> {
    runs++

    while (waiting.length > 0) {
      // Calls of the same tick share a run.
      await setImmediate()
      const calls = takeCalls()
      if (calls.length === 0) continue
      try {
        const results = await run(calls.map(({ item }) => item))
        if (results.length !== calls.length)
          throw new Error(`${calls.length} calls had ${results.length} results`)
        // A result may be undefined, so `results[index]` has the right type.
        calls.forEach(({ resolve }, index) => resolve(results[index] as Result))
      } catch (error) {
        for (const { reject } of calls) reject(error)
      }
    }

    runs--
  }

  /** Takes the calls of the next run, and rejects those that are too late. */
  function takeCalls(): Call<Item, Result>[] {
    const now = performance.now()
    // The oldest are first.
    while (waiting[0] !== undefined && waiting[0].deadline < now)
      waiting.shift()?.reject(new Overloaded())

    return waiting.splice(0, maxSize)
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= maxWaiting) {
        reject(new Overloaded())
        return
      }
      const deadline = performance.now() + maxWaitMs
      waiting.push({ item, deadline, resolve, reject })
      if (runs < maxRuns) void runAll()
    })
}
