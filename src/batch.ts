import { setImmediate } from 'node:timers/promises'

/** Too many calls are waiting. The rejected one had no effect and can be repeated. */
export class Overloaded extends Error {
  readonly code = 'overloaded'
  override readonly message = 'too many calls are waiting'
}

/** Milliseconds to find the items at fault in a group. */
const splitTimeout = 5000

/**
 * Turns a function for many items into one for a single item. Calls that arrive during a run share the next run, in their
 * order. A call to an idle batch runs within the same turn of the event loop. Only one run is active at a time, and no call
 * joins a run that has started: what a run reads is never older than its calls.
 *
 * @param run processes all items and returns their results in the same order; if it rejects, the calls of its items reject
 * @param maxWaiting calls that may wait; further ones reject with Overloaded
 * @param maxSize maximum number of items in a run
 * @param isFaultOfItem whether a single item may have caused an error: then the two halves of the items run separately
 */
export function batch<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  options: {
    maxWaiting?: number
    maxSize?: number
    isFaultOfItem?: (error: unknown) => boolean
  } = {}
): (item: Item) => Promise<Result> {
  const {
    maxWaiting = 10_000,
    maxSize = maxWaiting,
    isFaultOfItem = () => false
  } = options
  const waiting: {
    item: Item
    resolve: (result: Result) => void
    reject: (error: unknown) => void
  }[] = []
  let isRunning = false

  async function runWaiting(): Promise<void> {
    isRunning = true
    while (waiting.length > 0) {
      // Calls of the same turn share a run.
      await setImmediate()
      await settle(waiting.splice(0, maxSize), performance.now() + splitTimeout)
    }
    isRunning = false
  }

  async function settle(
    calls: typeof waiting,
    deadline: number
  ): Promise<void> {
    try {
      const results = await run(calls.map(({ item }) => item))
      calls.forEach(({ resolve }, index) => resolve(results[index] as Result))
    } catch (error) {
      const isShared = calls.length > 1 && isFaultOfItem(error)
      if (isShared && performance.now() < deadline) {
        await settle(calls.splice(0, calls.length >> 1), deadline)
        await settle(calls, deadline)
      } else {
        for (const { reject } of calls)
          reject(isShared ? new Overloaded() : error)
      }
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= maxWaiting) return reject(new Overloaded())
      waiting.push({ item, resolve, reject })
      if (!isRunning) void runWaiting()
    })
}
