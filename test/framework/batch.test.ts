import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  trace
} from '@opentelemetry/api'
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider
} from '@opentelemetry/sdk-trace'
import t, { type Test } from 'tap'
import { batch, shareRuns } from '../../src/framework/batch.ts'
import { hold } from '../support/hold.ts'

// What requests see of batches is tested with the operations, in
// test/handlers/ and test/framework/creates/.

/** A function that records its runs, and returns its items. */
function recordedRun() {
  const runs: number[][] = []
  const run = (items: number[]) => {
    runs.push(items)
    return Promise.resolve(items)
  }

  return { runs, run }
}

const overloaded = { status: 'rejected', reason: { code: 'overloaded' } }

t.test('a run takes the oldest items, up to its maximum', async (t) => {
  const { runs, run } = recordedRun()
  const call = batch(run, { maxQueued: 3, maxSize: 2 })

  const calls = await Promise.allSettled([1, 2, 3, 4].map(call))
  t.match(calls, [{ value: 1 }, { value: 2 }, { value: 3 }, overloaded])
  t.same(runs, [[1, 2], [3]])
})

t.test('as many runs as allowed are active at the same time', async (t) => {
  const ends = [hold(), hold(), hold()]
  const started: number[] = []
  const run = async (items: number[]) => {
    started.push(...items)
    for (const item of items) await ends[item]?.held
    return items
  }
  const call = batch(run, { maxSize: 1, maxRuns: 2 })
  const calls = [0, 1, 2].map(call)

  ends[1]?.release()
  t.equal(await calls[1], 1)
  ends[2]?.release()
  t.equal(await calls[2], 2)
  t.same(started, [0, 1, 2])

  ends[0]?.release()
  t.same(await Promise.all(calls), [0, 1, 2])
})

t.test('a run that fails rejects its calls only', async (t) => {
  const run = (items: number[]) =>
    items.includes(0) ? Promise.reject(new Error('zero')) : recorded.run(items)
  const recorded = recordedRun()
  const call = batch(run, { maxSize: 2 })

  const rejected = { status: 'rejected', reason: { message: 'zero' } }
  const calls = await Promise.allSettled([0, 1, 2].map(call))
  t.match(calls, [rejected, rejected, { value: 2 }])
})

t.test(
  'a run with another number of results than calls rejects every call',
  async (t) => {
    for (const results of [[1], [1, 2, 3]]) {
      const call = batch(() => Promise.resolve(results))
      const calls = await Promise.allSettled([1, 2].map(call))
      const message = `2 calls had ${results.length} results`
      const rejected = { status: 'rejected', reason: { message } }
      t.match(calls, [rejected, rejected])
    }
  }
)

t.test('calls that wait for too long reject as overload', async (t) => {
  let now = 0
  t.intercept(performance, 'now', { value: () => now })

  const { runs, run } = recordedRun()
  const runSlowly = (items: number[]) => {
    now += 1000
    return run(items)
  }
  const call = batch(runSlowly, { maxWaitMs: 1500, maxSize: 1 })

  const calls = await Promise.allSettled([1, 2, 3, 4].map(call))
  t.match(calls, [{ value: 1 }, { value: 2 }, overloaded, overloaded])
  t.same(runs, [[1], [2]])
  t.equal(await call(5), 5)
})

t.test('calls of a function without items share the next run', async (t) => {
  const counts: number[] = []
  const call = shareRuns((callCount) => {
    counts.push(callCount)
    return Promise.resolve({})
  }, 'test')

  const [first, second] = await Promise.all([call(), call()])
  const third = await call()

  t.same(counts, [2, 1])
  t.equal(first, second, 'one result')
  t.not(third, first, 'no call joins a run that has started')
})

/** Contexts that outlive `await`, as those of the SDK do. */
class AsyncContexts implements ContextManager {
  readonly #contexts = new AsyncLocalStorage<Context>()

  active = () => this.#contexts.getStore() ?? ROOT_CONTEXT

  with: ContextManager['with'] = (active, work, self, ...args) =>
    this.#contexts.run(active, () => work.call(self, ...args))

  bind: ContextManager['bind'] = (_context, target) => target
  enable = () => this
  disable = () => this
}

/** Records spans in memory. */
function recordSpans(t: Test) {
  const exporter = new InMemorySpanExporter()
  const provider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter })]
  })
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(new AsyncContexts())
  t.teardown(() => {
    trace.disable()
    context.disable()
  })

  return exporter
}

t.test('a run is a span that links to the spans of its calls', async (t) => {
  const exporter = recordSpans(t)
  const tracer = trace.getTracer('test')
  const run = (items: number[]) => {
    const isFault = items.includes(0)
    tracer.startSpan('statement').end()
    return isFault
      ? Promise.reject(new Error('a secret'))
      : recordedRun().run(items)
  }
  const call = batch(run, { name: 'numbers' })
  const callInSpan = (item: number) =>
    tracer.startActiveSpan(`call ${item}`, async (span) => {
      await call(item).catch(() => {})
      span.end()
      return span.spanContext()
    })

  const callers = await Promise.all([1, 2].map(callInSpan))
  await callInSpan(0)

  const spans = exporter.getFinishedSpans()
  const [group, failed] = spans.filter(({ name }) => name === 'numbers')
  t.match(group, {
    parentSpanContext: { spanId: callers[0]?.spanId },
    links: callers.map(({ spanId }) => ({ context: { spanId } })),
    attributes: { 'batch.size': 2 },
    status: { code: 0 }
  })
  t.match(failed, { status: { code: 2 }, attributes: { 'batch.size': 1 } })

  const [statement] = spans.filter(({ name }) => name === 'statement')
  const spanId = group?.spanContext().spanId
  t.match(statement, { parentSpanContext: { spanId } })
  t.notMatch(JSON.stringify(failed?.attributes), 'a secret')
})
