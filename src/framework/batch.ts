import { setImmediate } from 'node:timers/promises'
import { currentSpan, tracedGroup, type WaitingCall } from './tracing/spans.ts'

/**
 * Too many calls are waiting. The rejected one had no effect and can be
 * repeated.
 */
export class Overloaded extends Error {
  readonly code = 'overloaded'
  override readonly message = 'too many calls are waiting'
}

const defaultSplitMs = 5000

interface Call<Item, Result> extends WaitingCall {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

interface Options {
  /** What traces call a run. */
  name?: string
  /** Calls that may wait; further ones reject with Overloaded. */
  maxQueued?: number
  /** Milliseconds after which a waiting call rejects with Overloaded. */
  maxWaitMs?: number
  /** Milliseconds to find the items at fault in a group; by default 5 s. */
  maxSplitMs?: number
  /** Maximum number of items in a run. */
  maxSize?: number
  /**
   * Whether a single item may have caused an error: then parts of the items run
   * separately.
   */
  isFaultOfItem?: (error: unknown) => boolean
}

/**
 * Turns a function for many items into one for a single item. Calls that arrive
 * during a run share the next run, in their order. A call to an idle batch runs
 * at the next setImmediate(), with the other calls of its tick. Only one run is
 * active at a time, and no call joins a run that has started: a run never reads
 * anything older than its calls.
 *
 * @param run processes all items and returns their results in the same order;
 *   if it rejects, or returns another number of results, the calls of its items
 *   reject
 */
export function batch<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  options: Options = {}
): (item: Item) => Promise<Result> {
  const queue = new Batch(run, options)
  return (item) => queue.add(item)
}

/**
 * Makes calls of a function that wait at the same time share one run, and its
 * result. The promise of `batch` holds: no call joins a run that has started.
 *
 * @param run gets the number of calls that share it
 * @param name what traces call a run
 */
export function shareRuns<Result>(
  run: (callCount: number) => Promise<Result>,
  name: string
): () => Promise<Result> {
  const runAll = async (calls: undefined[]) => {
    const result = await run(calls.length)
    return calls.map(() => result)
  }
  const call = batch(runAll, { name })

  return () => call(undefined)
}

class Batch<Item, Result> {
  readonly #run: (items: Item[]) => Promise<Result[]>
  readonly #name: string
  readonly #maxQueued: number
  readonly #maxWaitMs: number
  readonly #maxSplitMs: number
  readonly #maxSize: number
  readonly #isFaultOfItem: (error: unknown) => boolean
  readonly #waiting: Call<Item, Result>[] = []
  #isRunning = false

  constructor(run: (items: Item[]) => Promise<Result[]>, options: Options) {
    this.#run = run
    this.#name = options.name ?? 'batch'
    this.#maxQueued = options.maxQueued ?? 10_000
    this.#maxWaitMs = options.maxWaitMs ?? Infinity
    this.#maxSplitMs = options.maxSplitMs ?? defaultSplitMs
    this.#maxSize = options.maxSize ?? this.#maxQueued
    this.#isFaultOfItem = options.isFaultOfItem ?? (() => false)
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length >= this.#maxQueued) {
        reject(new Overloaded())
        return
      }
      const arrivedAt = performance.now()
      const span = currentSpan()
      this.#waiting.push({ item, span, arrivedAt, resolve, reject })
      // `#dispatchAll` never rejects: only the linter needs the catch.
      if (!this.#isRunning) this.#dispatchAll().catch(reject)
    })
  }

  /** Runs until no call is waiting. */
  async #dispatchAll(): Promise<void> {
    this.#isRunning = true

    while (this.#waiting.length > 0) {
      // Calls of the same tick share a run.
      await setImmediate()
      this.#rejectLate()

      const calls = this.#waiting.splice(0, this.#maxSize)
      if (calls.length > 0) await this.#dispatchGroup(calls)
    }

    this.#isRunning = false
  }

  /** Rejects the calls that have waited for too long: the oldest are first. */
  #rejectLate(): void {
    const earliestArrival = performance.now() - this.#maxWaitMs
    const firstInTime = this.#waiting.findIndex(
      ({ arrivedAt }) => arrivedAt >= earliestArrival
    )
    const count = firstInTime === -1 ? this.#waiting.length : firstInTime

    rejectAll(this.#waiting.splice(0, count), new Overloaded())
  }

  /** Never rejects: the calls that wait would wait forever. */
  async #dispatchGroup(calls: Call<Item, Result>[]): Promise<void> {
    const splitUntil = performance.now() + this.#maxSplitMs

    try {
      await this.#dispatch(calls, splitUntil)
    } catch (error) {
      // `isFaultOfItem` has thrown. Calls that are settled stay so.
      rejectAll(calls, error)
    }
  }

  /** Runs calls as a group, and settles each. */
  async #dispatch(
    calls: Call<Item, Result>[],
    splitUntil: number
  ): Promise<void> {
    try {
      const items = calls.map(({ item }) => item)
      const run = () => this.#run(items)
      const results = await tracedGroup(this.#name, calls, run)
      resolveAll(calls, results)
    } catch (error) {
      await this.#rejectOrSplit(calls, splitUntil, error)
    }
  }

  /**
   * Rejects the calls, or tries parts of them so that only the item at fault
   * fails. After `maxSplitMs`, the calls that were not tried yet reject with
   * Overloaded; their clients may retry.
   */
  async #rejectOrSplit(
    calls: Call<Item, Result>[],
    splitUntil: number,
    error: unknown
  ): Promise<void> {
    if (calls.length === 1 || !this.#isFaultOfItem(error))
      return rejectAll(calls, error)

    for (const part of partsOf(calls)) {
      if (performance.now() < splitUntil) await this.#dispatch(part, splitUntil)
      else rejectAll(part, new Overloaded())
    }
  }
}

/**
 * Splits items into parts of about the square root of their number. One of 250
 * items is found after three splits, in up to 25 runs. Halves would need eight
 * splits, and each one may wait for the slow row again.
 */
function partsOf<Item>(items: Item[]): Item[][] {
  const size = Math.floor(Math.sqrt(items.length))
  const count = Math.ceil(items.length / size)

  return Array.from({ length: count }, (_, part) =>
    items.slice(part * size, (part + 1) * size)
  )
}

function resolveAll<Item, Result>(
  calls: Call<Item, Result>[],
  results: Result[]
): void {
  if (results.length !== calls.length)
    throw new Error(`${calls.length} calls had ${results.length} results`)
  results.forEach((result, index) => calls[index]?.resolve(result))
}

function rejectAll<Item, Result>(
  calls: Call<Item, Result>[],
  error: unknown
): void {
  for (const { reject } of calls) reject(error)
}
