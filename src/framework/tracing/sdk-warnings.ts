import { format } from 'node:util'
import { diag, DiagLogLevel } from '@opentelemetry/api'
import type { FastifyBaseLogger } from 'fastify'

/** A minute. */
const periodMs = 60_000

/** Characters that tell kinds apart: a message may end with any text. */
const kindLength = 30

/**
 * Logs the warnings of the SDK: spans that were lost because the collector is
 * slow, spans that it rejected, and variables that the SDK cannot read. Each
 * kind has a line a minute.
 */
export function logSdkWarnings(log: FastifyBaseLogger): void {
  const loggedAt = new Map<string, number>()

  const warn = (message: string, ...details: unknown[]) => {
    const now = performance.now()
    // Spans are counted in the message.
    const kind = message.replace(/\d+/g, '').slice(0, kindLength)
    const last = loggedAt.get(kind) ?? -Infinity
    if (now - last < periodMs) return

    loggedAt.set(kind, now)
    log.warn(`traces: ${format(message, ...details)}`)
  }

  const ignore = () => {}
  const logger = {
    warn,
    // ReportingExporter logs them.
    error: ignore,
    info: ignore,
    debug: ignore,
    verbose: ignore
  }
  diag.setLogger(logger, {
    logLevel: DiagLogLevel.WARN,
    suppressOverrideMessage: true
  })
}

/** Logs them no longer. */
export function ignoreSdkWarnings(): void {
  diag.disable()
}
