import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from './message-of.ts'
import { onceAMinute } from './once-a-minute.ts'

/** Milliseconds between two attempts. */
const intervalMs = 1000

/** Milliseconds after which a wait is reported. */
const longWaitMs = 10_000

interface Options {
  /** Called with a failure, unless the last minute had the same message. */
  report: (error: unknown) => void
  /** Whether another attempt may succeed: by default, always. */
  isTemporary?: (error: unknown) => boolean
  maxAttempts?: number
}

/**
 * Runs `attempt` every second until it succeeds, by default forever.
 *
 * @returns its result
 * @throws the error that is not temporary, or that of the last attempt
 */
export async function retry<Result>(
  attempt: () => Promise<Result>,
  options: Options
): Promise<Result> {
  const { report, isTemporary = () => true, maxAttempts = Infinity } = options
  let lastMessage = ''
  let reportAgain = report

  for (let attempts = 1; attempts < maxAttempts; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      if (!isTemporary(error)) throw error

      const message = messageOf(error)
      if (message !== lastMessage) reportAgain = onceAMinute(report)
      reportAgain(error)
      lastMessage = message
    }
    await sleep(intervalMs)
  }

  return attempt()
}

/**
 * Reports on stderr what a start waits for, if that takes long.
 *
 * @returns the result of `promise`
 */
export function reportWait<Result>(
  what: string,
  promise: Promise<Result>
): Promise<Result> {
  const report = () => console.error(`waiting for ${what}`)
  const timer = setTimeout(report, longWaitMs)
  return promise.finally(() => clearTimeout(timer))
}
