// Whether V8 pretenures, as it reports itself.
import t, { type Test } from 'tap'
import { run } from '../../support/process.ts'

/** Makes objects that live long, so many that V8 has to decide about them. */
const makeLongLived = `
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--trace-pretenuring-statistics')
  const kept = []
  for (let count = 0; count < 200_000; count++) kept.push({ list: [count] })
`

const registerTraces = `
  const { fastify } = await import('fastify')
  const { traces } = await import('./src/framework/tracing/traces.ts')
  await fastify().register(traces, {
    endpoint: 'http://127.0.0.1:9',
    config: { OTEL_TRACES_SAMPLER: 'always_off' },
    version: '1.0.0'
  })
`

/** Runs a program with few young objects, and returns what V8 reports. */
async function reportOf(t: Test, program: string): Promise<string> {
  const flags = ['--max-semi-space-size=1', '--input-type=module']
  const node = [process.execPath, ...flags, '--eval', program]
  const child = run(t, node)
  t.equal(await child.exited, 0)
  return child.output()
}

t.test('V8 pretenures objects that live long', async (t) => {
  t.match(await reportOf(t, makeLongLived), '=> tenure')
})

t.test('with traces, V8 does not pretenure', async (t) => {
  const report = await reportOf(t, registerTraces + makeLongLived)
  t.notMatch(report, 'tenure')
})
