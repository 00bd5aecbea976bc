import { exitWithError } from './exit-with-error.ts'

/**
 * Milliseconds in which a second signal is the same: npm and a terminal may
 * both send it.
 */
const sameSignalMs = 1000

/**
 * Runs what `start` starts until SIGTERM or SIGINT, then stops it and ends the
 * process. A second signal ends the process at once.
 *
 * @param start returns the function that stops
 */
export async function runUntilSignal(
  start: () => Promise<() => Promise<void>>
): Promise<void> {
  let stop: (() => Promise<void>) | undefined = undefined
  let signalledAt: number | undefined = undefined

  function onSignal(): void {
    if (signalledAt !== undefined) {
      if (performance.now() - signalledAt >= sameSignalMs) process.exit(1)
      return
    }
    signalledAt = performance.now()

    // Until the service listens, there is nothing to finish.
    if (stop === undefined) process.exit()
    // Exits explicitly, because the service may still wait for its database.
    stop().then(() => process.exit(), exitWithError)
  }

  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, onSignal)
  // A full disk behind stdout or stderr must not end the service.
  for (const output of [process.stdout, process.stderr])
    output.on('error', () => {})

  stop = await start().catch(exitWithError)
}
