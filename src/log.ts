import { write, writeSync } from 'node:fs'
import { pino, type Logger } from 'pino'
import { prettyFactory } from 'pino-pretty'

/** Characters that may wait to be written. */
const maxWaiting = 2 ** 24

const digit = '(?:[0-9a-f]|%(?:25)*(?:3[0-9]|[46][1-6]))'
const disguisedKey = new RegExp(`(petcat(?:_|%(?:25)*5f)${digit}{8})${digit}+|(${digit}{8})${digit}{40,}`, 'gi')

/**
 * Replaces all but the first 8 digits, which `keys list` shows too, of any API key in a text of a client: percent-encoded
 * however often, or without its prefix.
 */
export const redactKeys = (text: string): string => text.replace(disguisedKey, '$1$2***')

/** For each line, at a fifteenth of the cost: what else a line has of a client is no URL. */
const plainKey = /(petcat_[0-9a-f]{8})[0-9a-f]+/gi

/**
 * The log: JSON lines, or readable ones on a terminal. No line holds an API key, wherever a client sent it.
 *
 * JSON lines are written in groups, after 0.2 s at the latest and when the process exits; a SIGKILL loses that much. While the output
 * cannot be written to, for example on a full disk, or nobody reads it, lines wait; beyond 16 MiB they are dropped.
 */
export function createLogger(level: string, output: { fd: number; isTTY?: boolean } = process.stdout): Logger {
  const format = output.isTTY
    ? prettyFactory({ singleLine: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss.l' })
    : (line: string) => line
  const append = appender(output.fd, output.isTTY ? 1 : 4096)
  return pino({ level }, { write: (line) => append(format(line).replace(plainKey, '$1***')) })
}

/** Returns a function that appends text to a file, without blocking and without errors, in groups of `minLength` characters or more. */
function appender(fd: number, minLength: number): (text: string) => void {
  let waiting = ''
  let chunk = Buffer.alloc(0)
  let isWriting = false

  function flush() {
    if (isWriting) return
    if (chunk.length === 0) {
      chunk = Buffer.from(waiting)
      waiting = ''
    }
    if (chunk.length === 0) return
    isWriting = true
    write(fd, chunk, (error, written) => {
      isWriting = false
      // The chunk stays, and the next flush tries it again.
      if (error) return
      chunk = chunk.subarray(written)
      if (chunk.length > 0 || waiting.length >= minLength) flush()
    })
  }

  setInterval(flush, 200).unref()
  process.on('exit', () => {
    try {
      let rest = Buffer.from(waiting)
      while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest))
    } catch {
      // Nothing is left to report it to.
    }
  })

  return (text) => {
    if (chunk.length + waiting.length + text.length > maxWaiting) return
    waiting += text
    if (waiting.length >= minLength) flush()
  }
}
