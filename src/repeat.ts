/**
 * Runs work at once, and then at each interval.
 *
 * @param work reports its failures itself; the next time repeats it
 * @param intervalMs milliseconds, more than the work takes
 * @returns a function that ends it
 */
export function repeat(
  work: () => Promise<void>,
  intervalMs: number
): () => void {
  const run = () => {
    work().catch(() => {})
  }

  run()
  const timer = setInterval(run, intervalMs)
  return () => clearInterval(timer)
}
