// Loaded before each server: reports to the benchmark what the process has
// used.
function report() {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system, rss: process.memoryUsage.rss() })
}

process.on('message', (message) => {
  if (message === 'usage') report()
})

// Ends the server when the benchmark is killed.
process.on('disconnect', () => process.exit())
process.channel?.unref()
