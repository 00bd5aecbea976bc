import t from 'tap'
import { breakNotes, listNotes, startNotes } from '../../support/notes.ts'
import { recorder } from '../../support/recorder.ts'

const id = '4bf92f3577b34da6a3ce929d0e0e4736'
const valid = `00-${id}-00f067aa0ba902b7-01`

/** Values of `traceparent`, and the trace id in the log. */
const headers: [traceparent: string, id?: string][] = [
  [valid, id],
  [`${valid.replace('00', 'cc')}-what-follows`, id],
  [''],
  [valid.toUpperCase()],
  // Two headers.
  [`${valid}, ${valid}`]
]

t.test('each line of a request has its trace id', async (t) => {
  const { lines, log } = recorder()
  const service = await startNotes(t, { log })
  await breakNotes(service.databaseUrl)

  for (const [traceparent, traceId] of headers) {
    lines.length = 0
    await listNotes(service, { traceparent })
    t.same(
      lines.map(({ msg, trace_id: found }) => [msg, found]),
      [
        ['internal_error', traceId],
        ['request', traceId]
      ],
      traceparent
    )
  }
})
