import { pino, type Logger } from 'pino'

/** Bytes of lines that may wait to be written. Further lines are dropped. */
const maxWaitingBytes = 2 ** 24

/**
 * An API key in a line, in any case. People paste it into a path, and clients
 * into their X-Request-Id. Its shown part stays.
 */
const apiKeyPattern = /(petcat_[0-9a-f]{8})[0-9a-f]{32}/gi

/** Creates the log: lines of JSON on stdout. */
export function createLogger(level: string): Logger {
  const destination = pino.destination({
    sync: false,
    maxLength: maxWaitingBytes
  })
  // A full disk behind stdout must not end the service.
  destination.on('error', () => {})

  return pino(
    {
      level,
      // PostgreSQL puts values of rows into these fields of an error.
      redact: { paths: ['err.detail', 'err.where'], remove: true },
      hooks: {
        streamWrite: (line) => line.replaceAll(apiKeyPattern, '$1***')
      }
    },
    destination
  )
}
