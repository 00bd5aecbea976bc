import { fail } from './fail.ts'

/** A second signal within this time is taken for the first one: npm and a terminal both pass it on. */
const secondSignalAfter = 1000

const controller = new AbortController()
let stoppingSince = 0

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    if (!controller.signal.aborted) {
      stoppingSince = performance.now()
      controller.abort()
    } else if (performance.now() - stoppingSince >= secondSignalAfter) {
      fail(new Error('stopped at once by a second signal'))
    }
  })
}

/** Aborted by the first SIGTERM or SIGINT. */
export const stopping = controller.signal
