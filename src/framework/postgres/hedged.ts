/** Milliseconds without an outcome until another attempt starts. */
const delayMs = 100

/** Connections that the attempts may hold together. */
const maxAttempts = 3

/**
 * Runs a read that other requests depend on. While it has no outcome, starts it
 * again every 100 ms, at most three times in all: the connection may be frozen,
 * because its server process hangs or a network drops its packets. A frozen
 * connection stays out of the pool until its timeout, so each attempt gets
 * another one.
 *
 * @returns the first result
 * @throws the error of an attempt that fails while no other one is running: a
 *   read that is only slow succeeds, even if there is no second connection
 * @see https://grpc.io/docs/guides/request-hedging/
 */
export function hedged<Result>(read: () => Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    let started = 0
    let running = 0
    const timer = setInterval(attempt, delayMs)
    attempt()

    function attempt() {
      started++
      running++
      if (started === maxAttempts) clearInterval(timer)
      read().then(succeed, fail)
    }

    function succeed(result: Result) {
      clearInterval(timer)
      resolve(result)
    }

    function fail(error: Error) {
      running--
      if (running > 0) return
      clearInterval(timer)
      reject(error)
    }
  })
}
