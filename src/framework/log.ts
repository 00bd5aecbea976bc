import { createRequire } from 'node:module'
import { pino, type Logger } from 'pino'
import { apiKeyPattern } from './keys/key.ts'

/** Bytes that may wait to be written. Further lines are dropped. */
const maxWaitingBytes = 2 ** 24

/** Bytes that are written together, or fewer after `flushIntervalMs`. */
const minWriteBytes = 4096
const flushIntervalMs = 200

/**
 * Creates the log: JSON lines, or readable ones on a terminal. Of an API key,
 * it keeps the part that `keys list` shows.
 *
 * Several JSON lines are written together, at the latest after 0.2 s and when
 * the process exits; a SIGKILL loses that much. While the output cannot be
 * written, such as on a full disk, up to 16 MiB wait and further lines are
 * dropped.
 */
export function createLogger(
  level: string,
  apiKeyPrefix: string,
  output: { fd: number; isTTY?: boolean } = process.stdout
): Logger {
  const format = output.isTTY ? readableFormat() : undefined
  const pattern = new RegExp(apiKeyPattern(apiKeyPrefix), 'gi')
  const streamWrite = (line: string) =>
    (format?.(line) ?? line).replace(pattern, '$1***')
  const destination = openDestination(
    output.fd,
    output.isTTY ? 0 : minWriteBytes
  )

  return pino(
    {
      level,
      serializers: { err: serializeError },
      hooks: { streamWrite }
    },
    destination
  )
}

/**
 * PostgreSQL puts values of a row into `detail` and `where` of an error. The
 * log never has them.
 */
function serializeError(error: Error): object {
  const serialized = pino.stdSerializers.err(error)
  return { ...serialized, detail: undefined, where: undefined }
}

/**
 * Opens a destination that never blocks, throws or ends the process. It writes
 * synchronously, so nothing is half written when the process exits: a pipe that
 * is full fails with EAGAIN immediately, because Node.js makes stdout
 * non-blocking.
 */
function openDestination(fd: number, minLength: number) {
  const destination = pino.destination({
    fd,
    sync: true,
    minLength,
    periodicFlush: flushIntervalMs,
    maxLength: maxWaitingBytes,
    retryEAGAIN: () => false
  })
  // After an error, the next flush tries again.
  destination.on('error', () => {})

  process.on('exit', () => {
    // flushSync would never return on a full disk. A flush ends when at most
    // `minLength` bytes are left, which the second one writes.
    destination.flush()
    destination.flush()
  })

  return destination
}

/** Loads pino-pretty, which only a terminal needs. */
function readableFormat(): (line: string) => string {
  const require = createRequire(import.meta.url)
  // The type of a module that is loaded synchronously.
  const pretty = require('pino-pretty') as typeof import('pino-pretty')

  return pretty.prettyFactory({
    singleLine: true,
    ignore: 'pid,hostname',
    translateTime: 'SYS:HH:MM:ss.l'
  })
}
