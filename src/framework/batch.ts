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

/**
 * How many calls may wait. Any more reject with Overloaded. A replica accepts
 * fewer connections than this, so only clients that disconnect and come back,
 * while their first calls still wait, can exceed it.
 */
const maxWaiting = 2500

interface Options {
  /**
   * Milliseconds that a call may wait. It is checked when a run begins: a call
   * that has waited for longer then rejects with Overloaded.
   */
  maxWaitMs?: number
  /** Maximum number of items in a run. */
  maxSize?: number
  /** Maximum number of runs at the same time. */
  maxRuns?: number
}

/**
 * Turns a function for many items into one for a single item. Calls that arrive
 * during a run share the next run, in their order. Without a run, one starts at
 * the next setImmediate(), with all calls of the same tick. No call joins a run
 * that has started, so a run sees all that was done before its calls.
 *
 * @param run processes all items and returns their results in the same order;
 *   if it rejects, or returns another number of results, the calls of its items
 *   reject
 */
export function batch<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  options: Options = {}
): (item: Item) => Promise<Result> {
  const { maxWaitMs = Infinity, maxSize = maxWaiting, maxRuns = 1 } = options
  const waiting: Call<Item, Result>[] = []
  let runs = 0

  /** Runs until no call is waiting. Never rejects. */
  async function runAll(): Promise<void> {
    runs++

    while (waiting.length > 0) {
      // Calls of the same tick share a run.
      await setImmediate()
      // The oldest are first.
      while (
        waiting[0] !== undefined &&
        waiting[0].deadline < performance.now()
      )
        waiting.shift()?.reject(new Overloaded())

      const calls = waiting.splice(0, maxSize)
      if (calls.length === 0) continue
      const items = calls.map(({ item }) => item)
      try {
        const results = await run(items)
        if (results.length !== calls.length)
          throw new Error(`${calls.length} calls had ${results.length} results`)
        results.forEach((result, index) => calls[index]?.resolve(result))
      } catch (error) {
        for (const { reject } of calls) reject(error)
      }
    }

    runs--
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= maxWaiting) {
        reject(new Overloaded())
        return
      }
      const deadline = performance.now() + maxWaitMs
      waiting.push({ item, deadline, resolve, reject })
      // `runAll` never rejects: only the linter needs the catch.
      if (runs < maxRuns) runAll().catch(reject)
    })
}

/**
 * Lets the calls of a function that wait at the same time share one run and its
 * result. As with `batch`, no call joins a run that has started.
 */
export function sharedCall<Result>(
  run: () => Promise<Result>,
  options?: Options
): () => Promise<Result> {
  const call = batch(async (calls: undefined[]) => {
    const result = await run()
    return calls.map(() => result)
  }, options)

  return () => call(undefined)
}
