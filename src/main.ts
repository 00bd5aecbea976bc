// The process: start, signals, stop. Signals are handled before the rest is loaded, which takes up to a second: without a
// handler, the first process of a container ignores SIGTERM.
import { once } from 'node:events'

/** Milliseconds. npm and a terminal both pass a signal on, so a second one within this time counts as the first. */
const secondSignalAfter = 1000

const controller = new AbortController()
const stopping = controller.signal
const aborted = once(stopping, 'abort')
let stoppingSince = 0

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (!stopping.aborted) {
      stoppingSince = performance.now()
      controller.abort()
    } else if (performance.now() - stoppingSince >= secondSignalAfter) {
      console.error('pet-categories: stopped immediately by a second signal')
      process.exit(1)
    }
  })
}

// A full disk behind stdout or stderr must not end the service. The log retries; other output is lost.
for (const output of [process.stdout, process.stderr]) output.on('error', () => {})

const { fail } = await import('./log.ts')
const { start } = await import('./start.ts')
// A start that a signal ended did not fail.
const stop = await start(stopping).catch((error: unknown) => (stopping.aborted ? process.exit() : fail(error)))
await aborted
await stop().catch(fail)
