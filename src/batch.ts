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

interface QueueEntry<Item, Result> {
  item: Item
  /** The time, as of performance.now(), at which it has waited too long. */
  deadline: number
  /** All callers of this item. */
  callers: Caller<Result>[]
}

/** A replica accepts fewer connections than this. */
const maxQueueLength = 2500

export interface BatchOptions {
  /**
   * Milliseconds that an item may wait. It is checked when a run begins: if the
   * item has waited for longer, its calls reject with OverloadedError.
   */
  maxWaitMs: number
  /** Maximum number of runs at the same time. */
  concurrency: number
  /** Maximum number of items in a run. */
  maxItems?: number
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
 * Calls share a run, in their order, if they arrive in the same tick, or while
 * `concurrency` runs are in progress. A run that has started takes no
 * further call, so it sees all that was done before its calls.
 *
 * @param run processes all items and returns their results in the same order;
 *   if it rejects, or returns another number of results, the calls of its items
 *   reject
 */
export function batch<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  {
    maxWaitMs,
    concurrency,
    maxItems = maxQueueLength,
    sharesEqual
  }: BatchOptions
): (item: Item) => Promise<Result> {
  /** The oldest entries are first. */
  const queue = new Map<unknown, QueueEntry<Item, Result>>()
  let activeRuns = 0

  /** Runs until no call is waiting. Never rejects. */
  async function runUntilEmpty(): Promise<void> {
    activeRuns++

    while (queue.size > 0) {
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

    activeRuns--
  }

  /** Takes the items of the next run, and rejects those that are too late. */
  function take(): QueueEntry<Item, Result>[] {
    const now = performance.now()
    const taken: QueueEntry<Item, Result>[] = []
    for (const [identity, entry] of queue) {
      if (taken.length === maxItems) break
      queue.delete(identity)
      if (entry.deadline < now) rejectAll([entry], new OverloadedError())
      else taken.push(entry)
    }

    return taken
  }

  return (item) =>
    new Promise((resolve, reject) => {
      const caller = { resolve, reject }
      const identity = sharesEqual ? JSON.stringify(item) : caller
      const equal = queue.get(identity)
      if (equal !== undefined) {
        equal.callers.push(caller)
        return
      }
      if (queue.size >= maxQueueLength) {
        reject(new OverloadedError())
        return
      }
      const deadline = performance.now() + maxWaitMs
      queue.set(identity, { item, deadline, callers: [caller] })
      if (activeRuns < concurrency) void runUntilEmpty()
    })
}

function rejectAll<Item, Result>(
  items: QueueEntry<Item, Result>[],
  error: unknown
): void {
  for (const { callers } of items)
    for (const { reject } of callers) reject(error)
}
