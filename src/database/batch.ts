/**
 * Turns work on many items into work on one: calls that come while a run is under way wait, and go together in the
 * next. When nothing is under way a call goes at once, so it never waits for company. A call only ever joins
 * a run that has not started: what the run reads is never older than the call.
 *
 * @param run works on all items and gives their results in the same order; when it fails, its items' calls fail
 */
export function batch<Item, Result>(run: (items: Item[]) => Promise<Result[]>): (item: Item) => Promise<Result> {
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
      const calls = waiting
      waiting = []
      try {
        const results = await run(calls.map(({ item }) => item))
        calls.forEach(({ resolve }, index) => resolve(results[index] as Result))
      } catch (error) {
        for (const { reject } of calls) reject(error)
      }
    }
    running = false
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!running) void runWaiting()
    })
}
