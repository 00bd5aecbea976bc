import { type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { postgresErrorIn } from './failures.ts'

// Records nothing until an SDK is registered.
const tracer = trace.getTracer('postgres')

/**
 * Runs a statement in a span below its caller's, if that is recorded. The span
 * has the name of the statement, but neither its text nor its values.
 */
export function inStatementSpan<Result>(
  name: string,
  run: (span?: Span) => Promise<Result>
): Promise<Result> {
  if (trace.getActiveSpan()?.isRecording() !== true) return run()

  const options = {
    kind: SpanKind.CLIENT,
    attributes: {
      'db.system.name': 'postgresql'
    }
  }

  return tracer.startActiveSpan(name, options, (span) =>
    run(span)
      .catch((error: Error & { code?: string }) => {
        span.setStatus({ code: SpanStatusCode.ERROR })
        // Only codes: the message may contain values of a request.
        span.setAttributes({
          'error.type': error.code,
          'db.response.status_code': postgresErrorIn(error).code
        })
        throw error
      })
      .finally(() => span.end())
  )
}
