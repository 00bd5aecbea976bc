// The process: it handles signals, starts the service, and stops it.
//
// Signals are handled before the rest is loaded, which takes up to a second:
// without a handler, the first process of a container ignores SIGTERM.
import './framework/javascript-pg.ts'
import type { Service } from './service.ts'

const signals = ['SIGTERM', 'SIGINT'] as const

/**
 * Milliseconds in which another signal counts as the same one: npm and a
 * terminal may both send it.
 */
const sameSignalMs = 1000

let service: Service | undefined = undefined
let isStopping = false

for (const signal of signals) process.on(signal, onSignal)

// A full disk behind stdout or stderr must not end the service. The log
// retries; other output is lost.
for (const output of [process.stdout, process.stderr])
  output.on('error', () => {})

const { exitOnError } = await import('./framework/exit-on-error.ts')
const { start, stop } = await import('./service.ts')
const { api } = await import('./handlers/index.ts')

const exitWithError = exitOnError(api.names.service)
const [argument] = process.argv.slice(2)
// `npm start -- --port 4000` must not start on another port without a word.
if (argument !== undefined) {
  exitWithError(
    new Error(
      `unknown argument ${argument}: ` +
        'set variables, as in PORT=4000 npm start; see docs/configuration.md'
    )
  )
}

service = await start(api).catch(exitWithError)

function onSignal(): void {
  if (isStopping) return
  isStopping = true
  // A signal after that time ends the process at once, as when somebody presses
  // Ctrl-C again. It does not end the first process of a container, which
  // ignores signals without a handler.
  setTimeout(() => {
    for (const signal of signals) process.off(signal, onSignal)
  }, sameSignalMs).unref()

  // Until the service listens, there is nothing to finish: no request, and no
  // API key that must be shown. The embedded PostgreSQL ends with this process.
  if (service === undefined) process.exit()
  // Exits explicitly, because the service may still wait for its database.
  stop(service).then(() => process.exit(), exitWithError)
}
