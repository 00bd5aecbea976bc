import { write, writeSync } from 'node:fs'
import { pino, type Logger } from 'pino'
import { prettyFactory } from 'pino-pretty'

/** Characters that may wait to be written. */
const maxWaiting = 2 ** 24

/** An API key, of which the log keeps what `keys list` shows. In a path, the underscore may be percent-encoded. */
const apiKey = /(petcat(?:_|%5f)[0-9a-f]{8})[0-9a-f]+/gi

/**
 * Creates the log: JSON lines, or readable ones on a terminal, without API keys.
 *
 * JSON lines are written in groups, at the latest after 0.2 s and when the process exits; a SIGKILL loses that much. While the
 * output cannot be written, such as on a full disk, up to 16 MiB wait and further lines are dropped.
 */
export function createLogger(
  level: string,
  output: { fd: number; isTTY?: boolean } = process.stdout
): Logger {
  const format = output.isTTY
    ? prettyFactory({
        singleLine: true,
        ignore: 'pid,hostname',
        translateTime: 'SYS:HH:MM:ss.l'
      })
    : (line: string) => line
  const append = appender(output.fd, output.isTTY ? 1 : 65536)
  return pino(
    { level },
    { write: (line) => append(format(line).replace(apiKey, '$1***')) }
  )
}

/** Returns a function that appends text to a file in the background, in groups of `minLength` characters, and retries. */
function appender(fd: number, minLength: number): (text: string) => void {
  let waiting = ''
  let chunk = Buffer.alloc(0)
  let isWriting = false

  function flush() {
    if (isWriting) return
    if (chunk.length === 0) [chunk, waiting] = [Buffer.from(waiting), '']
    if (chunk.length === 0) return
    isWriting = true
    write(fd, chunk, (error, written) => {
      isWriting = false
      chunk = chunk.subarray(written)
      // After an error, the next flush retries.
      if (!error && (chunk.length > 0 || waiting.length >= minLength)) flush()
    })
  }

  setInterval(flush, 200).unref()
  process.on('exit', () => {
    try {
      for (let rest = Buffer.from(waiting); rest.length > 0;)
        rest = rest.subarray(writeSync(fd, rest))
    } catch {
      // There is no place left to report this.
    }
  })

  return (text) => {
    if (chunk.length + waiting.length + text.length > maxWaiting) return
    waiting += text
    if (waiting.length >= minLength) flush()
  }
}

/** Describes an error in one line. A failed connection to a host with several addresses has no message, only a code. */
export function oneLine(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  return message || String(code)
}

/** Ends the process with exit code 1 and the error's message on stderr. */
export function fail(error: unknown): never {
  console.error(`pet-categories: ${oneLine(error)}`)
  process.exit(1)
}
