import { context, trace } from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor
} from '@opentelemetry/sdk-trace-node'
import t from 'tap'
import { createDatabase, openDatabase } from '../../support/database.ts'

const exporter = new InMemorySpanExporter()
const provider = new NodeTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(exporter)]
})
provider.register()
t.teardown(() => provider.shutdown())

const tracer = trace.getTracer('test')

t.test('a statement has a span below the one of its caller', async (t) => {
  const url = await createDatabase(t)
  const database = openDatabase(t, url)
  const one = database.statements.add('one', 'SELECT 1')
  const request = tracer.startSpan('request')
  const inRequest = trace.setSpan(context.active(), request)

  await database.read(one)
  await context.with(inRequest, () => database.read(one))
  const absent = openDatabase(t, 'postgres://127.0.0.1:1/secret')
  const failures = [
    database.read.bind(database, { text: "SELECT 'secret'::int" }),
    database.read.bind(database, { text: 'SELECT secret' }),
    absent.read.bind(absent, one)
  ]
  for (const fail of failures)
    await context.with(inRequest, () => t.rejects(fail()))

  const spans = exporter.getFinishedSpans()
  t.match(spans, [
    {
      name: 'one',
      parentSpanContext: { spanId: request.spanContext().spanId },
      attributes: {
        'db.system.name': 'postgresql',
        'db.query.summary': 'one',
        'db.namespace': new URL(url).pathname.slice(1)
      },
      events: [{ name: 'connected' }]
    },
    {
      name: 'unnamed',
      status: { code: 2 },
      attributes: {
        'error.type': '22P02',
        'db.response.status_code': '22P02'
      }
    },
    {
      attributes: {
        'error.type': 'unavailable',
        'db.response.status_code': '42703'
      }
    },
    { name: 'one', attributes: { 'error.type': 'unavailable' } }
  ])
  t.equal(spans.length, 4, 'none without a caller')
  t.notMatch(
    JSON.stringify(spans.map(({ attributes }) => attributes)),
    'secret'
  )
})
