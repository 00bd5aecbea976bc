import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer as SpanSource
} from '@opentelemetry/api'
import { sqlStateOf } from '../postgres/failures.ts'
import { inSpan, type Tracer, type WaitingCall } from './spans.ts'

/** Links of a group, at most: the size of the largest grouped write. */
export const maxLinks = 250

/** A call whose request is sampled. */
interface SampledCall extends WaitingCall {
  span: Span
}

/** Records groups and statements below the spans of requests. */
export class SpanTracer implements Tracer {
  readonly #source: SpanSource

  constructor(source: SpanSource) {
    this.#source = source
  }

  /**
   * The span of a group is below the span of its first sampled request. It
   * links to the spans of all sampled requests, and they link to it.
   */
  group<Result>(
    name: string,
    calls: WaitingCall[],
    run: () => Promise<Result>
  ): Promise<Result> {
    const sampled = calls.filter(isSampled).slice(0, maxLinks)
    const [first, ...others] = sampled
    if (first === undefined) return run()

    const now = performance.now()
    const span = this.#start(name, first.span, {
      links: sampled.map((call) => linkTo(call, now)),
      attributes: {
        'batch.size': calls.length,
        'batch.wait_ms': longestWait(calls, now)
      }
    })
    const link = { context: span.spanContext() }
    for (const other of others) other.span.addLink(link)

    return recorded(span, run, failureOfGroup)
  }

  /** The span has the name of a statement, but not its text or its values. */
  statement<Result>(
    name: string,
    parent: Span,
    run: () => Promise<Result>
  ): Promise<Result> {
    const span = this.#start(name, parent, {
      kind: SpanKind.CLIENT,
      attributes: {
        'db.system.name': 'postgresql',
        'db.query.summary': name
      }
    })

    return recorded(span, run, failureOfStatement)
  }

  #start(
    name: string,
    parent: Span,
    options: { kind?: SpanKind; links?: Link[]; attributes: Attributes }
  ): Span {
    const context = trace.setSpan(ROOT_CONTEXT, parent)
    return this.#source.startSpan(name, options, context)
  }
}

function isSampled(call: WaitingCall): call is SampledCall {
  return call.span !== undefined
}

function linkTo({ span, arrivedAt }: SampledCall, now: number): Link {
  return {
    context: span.spanContext(),
    attributes: { 'batch.wait_ms': now - arrivedAt }
  }
}

/**
 * Milliseconds. The oldest call may not be the first: a group may be a part.
 */
function longestWait(calls: WaitingCall[], now: number): number {
  return now - Math.min(...calls.map(({ arrivedAt }) => arrivedAt))
}

/** Runs a function, and ends the span with its promise. */
function recorded<Result>(
  span: Span,
  run: () => Promise<Result>,
  failureOf: (error: unknown) => Attributes
): Promise<Result> {
  const result = inSpan(span, run)

  result.then(
    () => span.end(),
    (error: unknown) => {
      span.setStatus({ code: SpanStatusCode.ERROR })
      span.setAttributes(failureOf(error))
      span.end()
    }
  )

  return result
}

/** The code of an error. Its message may contain values of a request. */
function failureOfGroup(error: unknown): Attributes {
  const hasCode = error instanceof Error && 'code' in error
  return { 'error.type': hasCode ? String(error.code) : 'internal_error' }
}

/** The same, and the SQLSTATE if the server sent one. */
function failureOfStatement(error: unknown): Attributes {
  const isWrapped = error instanceof Error && error.cause !== undefined
  const sqlState = sqlStateOf(isWrapped ? error.cause : error)
  if (sqlState === '') return failureOfGroup(error)

  return { ...failureOfGroup(error), 'db.response.status_code': sqlState }
}
