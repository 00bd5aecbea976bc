import { pino, type Logger } from 'pino'
import pretty from 'pino-pretty'

/** The log, on stdout: JSON lines, or readable ones on a terminal. Headers, and so keys, are never logged. */
export function createLogger(level: string): Logger {
  if (!process.stdout.isTTY) return pino({ level })
  return pino({ level }, pretty({ sync: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' }))
}
