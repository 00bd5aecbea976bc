/** Milliseconds between two lines of the log about the same. */
const lineIntervalMs = 60_000

/** Makes a function that writes a line, unless it has in the last minute. */
export function onceAMinute<Args extends unknown[]>(
  write: (...args: Args) => void
): (...args: Args) => void {
  let last = -Infinity

  return (...args) => {
    const now = performance.now()
    if (now - last < lineIntervalMs) return
    last = now
    write(...args)
  }
}
