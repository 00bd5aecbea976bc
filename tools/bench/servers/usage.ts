// Loaded before each server: reports to the benchmark what the process has used.
import { monitorEventLoopDelay } from 'node:perf_hooks'

const delay = monitorEventLoopDelay({ resolution: 5 })
let peak = 0

process.on('message', (message) => {
  if (message === 'watch') {
    delay.enable()
    setInterval(
      () => (peak = Math.max(peak, process.memoryUsage.rss())),
      50
    ).unref()
  }
  if (message === 'usage') {
    const { user, system } = process.cpuUsage()
    process.send?.({
      cpu: user + system,
      rss: process.memoryUsage.rss(),
      peak,
      longestStall: delay.max / 1e6
    })
    delay.reset()
  }
})
// Ends the server when the benchmark is killed.
process.on('disconnect', () => process.exit())
process.channel?.unref()
