// Deprecated: use @opentelemetry/api. Delete this file when nothing imports it.
import { type Span, trace } from '@opentelemetry/api'

/** A call that waits in a batch. */
export interface WaitingCall {
  span: Span | undefined
  arrivedAt: number
}

export const currentSpan = (): Span | undefined => trace.getActiveSpan()

export const inSpan = <Result>(
  _span: Span | undefined,
  work: () => Result
): Result => work()

export const tracedGroup = <Result>(
  _name: string,
  _calls: WaitingCall[],
  run: () => Promise<Result>
): Promise<Result> => run()

export const tracedStatement = <Result>(
  name: string | undefined,
  run: () => Promise<Result>
): Promise<Result> =>
  trace
    .getTracer('postgres')
    .startActiveSpan(name ?? 'unnamed', (span) =>
      run().finally(() => span.end())
    )
