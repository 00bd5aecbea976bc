// Where spans begin: in requests, batches and statements.
// src/framework/tracing/ records them. While traces are off, it is not loaded,
// and nothing has a span.
//
// A span is passed on by a variable, not by AsyncLocalStorage: that takes 15 %
// of the CPU of a list on Node.js 20. So the span of a caller is known until
// its first `await`. What continues later reads `currentSpan()` before, and
// calls `inSpan()` after it.
import type { Span } from '@opentelemetry/api'

/** A call that waits in a batch. */
export interface WaitingCall {
  /** The span of the caller, if there is one. */
  span: Span | undefined
  /** By the clock of `performance`. */
  arrivedAt: number
}

/** What is recorded, if anything is. */
export interface Tracer {
  /** Runs calls as a group. Some of them may have no span. */
  group: <Result>(
    name: string,
    calls: WaitingCall[],
    run: () => Promise<Result>
  ) => Promise<Result>

  /** Runs a statement for the caller that has this span. */
  statement: <Result>(
    name: string,
    parent: Span,
    run: () => Promise<Result>
  ) => Promise<Result>
}

let tracer: Tracer | undefined
let current: Span | undefined

/** Records spans from now on, or no longer. */
export function useTracer(newTracer: Tracer | undefined): void {
  tracer = newTracer
}

/** The span of the caller; undefined if it has none, or after an `await`. */
export function currentSpan(): Span | undefined {
  return current
}

/** Calls a function, which has this span until its first `await`. */
export function inSpan<Result>(
  span: Span | undefined,
  work: () => Result
): Result {
  if (span === current) return work()

  const outer = current
  current = span
  try {
    return work()
  } finally {
    current = outer
  }
}

/** Runs the calls of a batch, in a span that links to theirs. */
export function tracedGroup<Result>(
  name: string,
  calls: WaitingCall[],
  run: () => Promise<Result>
): Promise<Result> {
  return tracer === undefined ? run() : tracer.group(name, calls, run)
}

/** Runs a statement, in a span below the caller's. */
export function tracedStatement<Result>(
  name: string | undefined,
  run: () => Promise<Result>
): Promise<Result> {
  if (tracer === undefined || current === undefined) return run()
  return tracer.statement(name ?? 'unnamed', current, run)
}
