import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import type { FastifyBaseLogger } from 'fastify'

/**
 * Exports spans, and logs when that begins to fail and when it works again:
 * once each, because a collector may be away for hours.
 */
export class ReportingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #log: FastifyBaseLogger
  #isFailing = false

  constructor(exporter: SpanExporter, log: FastifyBaseLogger) {
    this.#exporter = exporter
    this.#log = log
  }

  export(
    spans: ReadableSpan[],
    done: Parameters<SpanExporter['export']>[1]
  ): void {
    this.#exporter.export(spans, (result) => {
      this.#report(result.error)
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }

  #report(error: Error | undefined): void {
    const isFailing = error !== undefined
    if (isFailing === this.#isFailing) return

    this.#isFailing = isFailing
    if (isFailing)
      this.#log.warn({ err: error }, 'traces cannot be exported, and are lost')
    else this.#log.info('traces are exported again')
  }
}
