import { pino, type Logger } from 'pino'
import pretty from 'pino-pretty'

/**
 * The log, on stdout: JSON lines, or readable ones on a terminal. Headers, and so keys, are never logged.
 *
 * JSON lines are written in groups, at the latest after 0.2 s and at the end of the process; a SIGKILL can lose so much. A reader
 * that does not read holds no request up: beyond 16 MiB, lines are dropped.
 */
export function createLogger(level: string, output: { fd: number; isTTY?: boolean } = process.stdout): Logger {
  const { fd: destination, isTTY } = output
  if (!isTTY) {
    const lines = { dest: destination, sync: false, minLength: 4096, maxLength: 2 ** 24, periodicFlush: 200 }
    return pino({ level }, pino.destination(lines))
  }
  return pino(
    { level },
    pretty({ destination, sync: true, singleLine: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' })
  )
}
