// The process of a deployment: the service, with the configuration of the
// environment. `npm start` runs tools/start/main.ts instead.
import { rejectArguments } from './reject-arguments.ts'
import { runUntilSignal } from './run-until-signal.ts'

rejectArguments()
await runUntilSignal(async () => {
  // Loading takes up to a second. Until signals are handled, the first process
  // of a container ignores them.
  const { start, stop } = await import('./service.ts')
  const service = await start(process.env)
  return () => stop(service)
})
