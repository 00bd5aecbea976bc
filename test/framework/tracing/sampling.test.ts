import t from 'tap'
import { loadConfig } from '../../../src/framework/config.ts'
import { samplingOf } from '../../../src/framework/tracing/sampling.ts'
import { noFile } from '../../support/service.ts'

const caller = (isSampled: boolean, traceId = 'f'.repeat(32)) => ({
  traceId,
  spanId: '00f067aa0ba902b7',
  isSampled
})

const callers = [undefined, caller(true), caller(false)]

/** Whether requests of no caller, a sampled and an unsampled one are traced. */
const sampledBy = (sampler: string, ratio?: string) => {
  const variables = {
    OTEL_TRACES_SAMPLER: sampler,
    OTEL_TRACES_SAMPLER_ARG: ratio
  }

  return callers.map(samplingOf(loadConfig(variables, noFile)))
}

t.test('each sampler decides by its caller, or without', (t) => {
  t.same(sampledBy(''), [true, true, false], 'the default')
  t.same(sampledBy('always_on'), [true, true, true])
  t.same(sampledBy('always_off'), [false, false, false])
  t.same(sampledBy('traceidratio', '1'), [true, true, true])
  t.same(sampledBy('traceidratio', '0'), [false, false, false])
  t.same(sampledBy('parentbased_always_on'), [true, true, false])
  t.same(sampledBy('parentbased_always_off'), [false, true, false])
  t.same(sampledBy('parentbased_traceidratio', '1'), [true, true, false])
  t.same(sampledBy('parentbased_traceidratio', '0.0'), [false, true, false])
  t.end()
})

t.test('by its id, all services decide alike on a trace', (t) => {
  const isSampled = samplingOf({
    OTEL_TRACES_SAMPLER: 'traceidratio',
    OTEL_TRACES_SAMPLER_ARG: 0.5
  })
  t.equal(isSampled(caller(false, `${'0'.repeat(24)}00000001`)), true)
  t.equal(isSampled(caller(true, `${'0'.repeat(24)}ffffffff`)), false)
  t.end()
})

t.test('a ratio is a part of the requests', (t) => {
  const numbers = [0.009, 0.011]
  t.intercept(Math, 'random', { value: () => numbers.shift() })
  const isSampled = samplingOf({
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: 0.01
  })
  t.same([isSampled(undefined), isSampled(undefined)], [true, false])
  t.end()
})

t.test('wrong values name their variable', (t) => {
  const wrong = {
    OTEL_EXPORTER_OTLP_ENDPOINT: ['localhost:4318', 'http://', 'grpc://x:4317'],
    OTEL_TRACES_SAMPLER: ['sometimes'],
    OTEL_TRACES_SAMPLER_ARG: ['1.1', '-1', 'x', '1.', '1e-3', '50%']
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values)
      t.throws(
        () => loadConfig({ [name]: value }, noFile),
        { message: new RegExp(`^${name} must `) },
        value
      )
  }
  t.end()
})
