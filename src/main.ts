// The process: start, signals, stop. Signals are handled before the rest is loaded, which takes up to a second: without a
// handler, the first process of a container ignores SIGTERM.
const signals = ['SIGTERM', 'SIGINT'] as const

// During the start there is nothing to finish. The embedded PostgreSQL ends with this process.
let stop = (): unknown => process.exit()

function onSignal() {
  stop()
  // npm and a terminal may both send the signal. Another one after a second ends the process immediately.
  stop = () => {}
  setTimeout(
    () => signals.forEach((signal) => process.off(signal, onSignal)),
    1000
  ).unref()
}
for (const signal of signals) process.on(signal, onSignal)

// A full disk behind stdout or stderr must not end the service. The log retries; other output is lost.
for (const output of [process.stdout, process.stderr])
  output.on('error', () => {})

const { fail } = await import('./log.ts')
const { start } = await import('./start.ts')
const finish = await start().catch(fail)
// Exits explicitly, because the service may still be waiting for its database.
stop = () => finish().then(() => process.exit(), fail)
