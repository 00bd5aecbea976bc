import type { Writable } from 'node:stream'
import { pino, type Logger } from 'pino'
import pretty from 'pino-pretty'

/** The log, on stdout: JSON lines, or readable ones on a terminal. Headers, and so keys, are never logged. */
export function createLogger(level: string, output: Writable & { isTTY?: boolean } = process.stdout): Logger {
  if (!output.isTTY) return pino({ level }, output)
  return pino(
    { level },
    pretty({
      destination: output,
      sync: true,
      singleLine: true,
      ignore: 'pid,hostname',
      translateTime: 'SYS:HH:MM:ss.l'
    })
  )
}
