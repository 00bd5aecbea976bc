import t from 'tap'
import { breakNotes, listNotes, startNotes } from '../../support/notes.ts'
import { recorder } from '../../support/recorder.ts'

const id = '4bf92f3577b34da6a3ce929d0e0e4736'
const parent = '00f067aa0ba902b7'
const valid = `00-${id}-${parent}-01`

/** Values of `traceparent`, and the trace id in the log. */
const headers: [traceparent: string, id: string | undefined][] = [
  [valid, id],
  [`00-${id}-${parent}-ff`, id],
  [`cc-${id}-${parent}-01-what-follows`, id],
  ['', undefined],
  [`ff-${id}-${parent}-01`, undefined],
  [`${valid}-`, undefined],
  [`01-${id}-${parent}-01.x`, undefined],
  [`00-${'0'.repeat(32)}-${parent}-01`, undefined],
  [`00-${id}-${'0'.repeat(16)}-01`, undefined],
  [valid.toUpperCase(), undefined],
  [`00-${id.slice(1)}-${parent}-01`, undefined],
  // Two headers.
  [`${valid}, ${valid}`, undefined]
]

t.test('each line of a request has its valid trace id', async (t) => {
  const { lines, log } = recorder()
  const service = await startNotes(t, { log })
  await breakNotes(service.databaseUrl)

  for (const [traceparent, traceId] of headers) {
    lines.length = 0
    await listNotes(service, { traceparent })
    const logged = lines.map(({ msg, trace_id: found }) => [msg, found])
    const expected = [
      ['internal_error', traceId],
      ['request', traceId]
    ]
    t.same(logged, expected, traceparent)
  }
})
