// Loaded before a server of the benchmark: tells the benchmark, when it asks, what the process has used.
import { monitorEventLoopDelay } from 'node:perf_hooks'

const delay = monitorEventLoopDelay({ resolution: 5 })
let peak = 0

process.on('message', (message) => {
  if (message === 'watch') {
    delay.enable()
    setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 50).unref()
  }
  if (message === 'usage') {
    const longestStall = delay.max / 1e6
    delay.reset()
    process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss(), peak, longestStall })
  }
})
// A benchmark that is killed leaves nothing behind.
process.on('disconnect', () => process.exit())
process.channel?.unref()
