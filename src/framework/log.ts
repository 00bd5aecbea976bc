import { pino, type Logger } from 'pino'
import { apiKeyPattern } from './keys/key.ts'

/**
 * Bytes of lines that may wait. While so many do, further lines are dropped.
 */
const maxWaitingBytes = 2 ** 24

/** Bytes that are written together, at the latest after `flushIntervalMs`. */
const minWriteBytes = 4096
const flushIntervalMs = 200

/**
 * Creates the log: JSON lines. Of an API key, it keeps what `keys list` shows.
 *
 * Several lines are written together, at the latest after 0.2 s and when the
 * process exits; a SIGKILL loses that much. While the output cannot be written,
 * such as on a full disk, up to 16 MiB wait and further lines are dropped.
 */
export function createLogger(
  level: string,
  apiKeyPrefix: string,
  fd = process.stdout.fd as number
): Logger {
  const pattern = new RegExp(apiKeyPattern(apiKeyPrefix), 'gi')
  const streamWrite = (line: string) => line.replace(pattern, '$1***')

  return pino(
    {
      level,
      serializers: { err: serializeError },
      hooks: { streamWrite }
    },
    openDestination(fd)
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
function openDestination(fd: number) {
  const destination = pino.destination({
    fd,
    sync: true,
    minLength: minWriteBytes,
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
