// How code hands on the span of its caller.
import { type Span, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider
} from '@opentelemetry/sdk-trace'
import pg from 'pg'
import t, { type Test } from 'tap'
import { Unavailable } from '../../../src/framework/postgres/failures.ts'
import {
  currentSpan,
  inSpan,
  tracedStatement,
  useTracer
} from '../../../src/framework/tracing/spans.ts'
import { SpanTracer } from '../../../src/framework/tracing/span-tracer.ts'

const spanOf = (spanId: string): Span =>
  trace.wrapSpanContext({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId,
    traceFlags: 1
  })

const span = spanOf('00f067aa0ba902b7')
const other = spanOf('00f067aa0ba902b8')

t.test('a caller has its span until its first await', async (t) => {
  const seen = inSpan(span, async () => {
    const before = currentSpan()
    await Promise.resolve()
    return { before, after: currentSpan() }
  })

  t.equal(currentSpan(), undefined)
  t.same(await seen, { before: span, after: undefined })
})

t.test('a span within a span ends with its function', (t) => {
  inSpan(span, () => {
    t.throws(() =>
      inSpan(other, () => {
        t.equal(currentSpan(), other)
        throw new Error('thrown')
      })
    )
    t.equal(currentSpan(), span)
  })
  t.end()
})

t.test('without a tracer, a statement runs without a span', async (t) => {
  const run = () => Promise.resolve('result')
  t.equal(await tracedStatement(undefined, run), 'result')
  t.equal(await inSpan(span, () => tracedStatement('x', run)), 'result')
})

/** Records spans until the test ends. */
function startRecording(t: Test): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter()
  const spanProcessors = [new SimpleSpanProcessor({ exporter })]
  const provider = new TracerProvider({ spanProcessors })
  useTracer(new SpanTracer(provider.getTracer('test')))
  t.teardown(() => useTracer(undefined))
  return exporter
}

t.test('a statement without a name or a code has substitutes', async (t) => {
  const exporter = startRecording(t)
  const fail = () => Promise.reject(new Error('a secret'))
  await t.rejects(inSpan(span, () => tracedStatement(undefined, fail)))

  const [statement] = exporter.getFinishedSpans()
  t.equal(statement?.name, 'unnamed')
  t.same(statement?.attributes, {
    'db.system.name': 'postgresql',
    'db.query.summary': 'unnamed',
    'error.type': 'internal_error'
  })
})

t.test('a statement that failed has the SQLSTATE of the cause', async (t) => {
  const exporter = startRecording(t)
  const cause = new pg.DatabaseError('a secret', 0, 'error')
  cause.code = '57014'
  const fail = () => Promise.reject(new Unavailable(cause))
  await t.rejects(inSpan(span, () => tracedStatement('x', fail)))

  t.match(exporter.getFinishedSpans(), [
    {
      attributes: {
        'error.type': 'unavailable',
        'db.response.status_code': '57014'
      }
    }
  ])
})
