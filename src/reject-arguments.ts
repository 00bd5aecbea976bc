import { exitWithError } from './exit-with-error.ts'

/**
 * Ends a process that has arguments: `npm start -- --port 4000` must not start
 * on another port without a word.
 */
export function rejectArguments(): void {
  const [argument] = process.argv.slice(2)
  if (argument === undefined) return
  exitWithError(
    new Error(
      `unknown argument ${argument}: ` +
        'set variables, as in PORT=4000 npm start; see docs/configuration.md'
    )
  )
}
