import {
  type Attributes,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace
} from '@opentelemetry/api'
import { OutcomeUnknown, sqlStateOf, Unavailable } from './failures.ts'

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

  return tracer.startActiveSpan(
    name,
    { kind: SpanKind.CLIENT, attributes },
    (span) => endedWith(span, run(span))
  )
}

const endedWith = <Result>(
  span: Span,
  result: Promise<Result>
): Promise<Result> =>
  result
    .catch((error: unknown) => {
      span.setStatus({ code: SpanStatusCode.ERROR })
      span.setAttributes(failureAttributes(error))
      throw error
    })
    .finally(() => span.end())

/** The codes of an error. Its message may contain values of a request. */
function failureAttributes(error: unknown): Attributes {
  const sqlState = sqlStateOf(error)
  const isWrapped =
    error instanceof Unavailable || error instanceof OutcomeUnknown

  return {
    'error.type': isWrapped ? error.code : sqlState,
    ...(sqlState && { 'db.response.status_code': sqlState })
  }
}
