import {
  type Attributes,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace
} from '@opentelemetry/api'
import { sentIn } from './failures.ts'

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

  const attributes = {
    'db.system.name': 'postgresql',
    'db.query.summary': name
  }

  const options = { kind: SpanKind.CLIENT, attributes }

  return tracer.startActiveSpan(name, options, (span) =>
    run(span)
      .catch((error: unknown) => {
        span.setStatus({ code: SpanStatusCode.ERROR })
        span.setAttributes(failureAttributes(error))
        throw error
      })
      .finally(() => span.end())
  )
}

/** The codes of an error. Its message may contain values of a request. */
function failureAttributes(error: unknown): Attributes {
  const { code } = error as { code?: string }
  return {
    'error.type': code,
    'db.response.status_code': sentIn(error).code
  }
}
