import { setImmediate } from 'node:timers/promises'

/** Too much is waiting. The work had no effect; a moment later it can be sent again. */
export class Overloaded extends Error {
  constructor() {
    super('too much is waiting')
  }
}

export interface BatchOptions {
  /** Calls that may wait; one more fails at once with Overloaded. */
  maxWaiting: number
  /** Items of one run at most. */
  maxSize?: number
  /** Whether an error may be the fault of a single item: the two halves of the run's items are then run in its place. */
  isFaultOfItem?: (error: unknown) => boolean
  /** Milliseconds for that; calls whose item has not been run alone by then fail with Overloaded. */
  splitTimeout?: number
}

/**
 * Turns work on many items into work on one: calls that come while a run is under way wait, and go together in the
 * next, in the order in which they came. When nothing is under way a call goes in this turn of the event loop, so it never
 * waits for company, and never more than one run is under way. A call only ever joins a run that has not started: what
 * the run reads is never older than the call.
 *
 * @param run works on all items and gives their results in the same order; when it fails, its items' calls fail
 */
export function batch<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  { maxWaiting, maxSize = maxWaiting, isFaultOfItem = () => false, splitTimeout = 5000 }: BatchOptions
): (item: Item) => Promise<Result> {
  interface Call {
    item: Item
    resolve: (result: Result) => void
    reject: (error: unknown) => void
  }
  let waiting: Call[] = []
  let running = false

  async function runWaiting(): Promise<void> {
    running = true
    while (waiting.length > 0) {
      // What has arrived with the first call goes with it.
      await setImmediate()
      const calls = waiting.slice(0, maxSize)
      waiting = waiting.slice(maxSize)
      await settle(calls, performance.now() + splitTimeout)
    }
    running = false
  }

  async function settle(calls: Call[], deadline: number): Promise<void> {
    try {
      const results = await run(calls.map(({ item }) => item))
      calls.forEach(({ resolve }, index) => resolve(results[index] as Result))
    } catch (error) {
      const isShared = calls.length > 1 && isFaultOfItem(error)
      if (isShared && performance.now() < deadline) {
        const half = calls.length >> 1
        await settle(calls.slice(0, half), deadline)
        await settle(calls.slice(half), deadline)
      } else {
        for (const { reject } of calls) reject(isShared ? new Overloaded() : error)
      }
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= maxWaiting) {
        reject(new Overloaded())
        return
      }
      waiting.push({ item, resolve, reject })
      if (!running) void runWaiting()
    })
}
