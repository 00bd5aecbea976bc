// Loaded before each server: reports to the benchmark what the process has
// used.
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Milliseconds between two looks at the resident memory. */
const interval = 50

const delay = monitorEventLoopDelay({ resolution: 5 })
let peak = 0

function recordPeak() {
  peak = Math.max(peak, process.memoryUsage.rss())
}

function report() {
  const { user, system } = process.cpuUsage()
  process.send?.({
    cpu: user + system,
    rss: process.memoryUsage.rss(),
    peak,
    longestStall: delay.max / 1e6
  })
  delay.reset()
}

process.on('message', (message) => {
  if (message === 'usage') report()
  if (message === 'watch') {
    delay.enable()
    setInterval(recordPeak, interval).unref()
  }
})

// Ends the server when the benchmark is killed.
process.on('disconnect', () => process.exit())
process.channel?.unref()
