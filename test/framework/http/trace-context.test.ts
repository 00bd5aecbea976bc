import t from 'tap'
import { recorder } from '../../support/recorder.ts'
import { breakNotes, startNotes } from '../../support/notes.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const valid = `00-${traceId}-${parentId}-01`

t.test('each line of a request has its trace id', async (t) => {
  const { lines, log } = recorder()
  const { app, auth, databaseUrl } = await startNotes(t, { log })
  await breakNotes(databaseUrl)
  lines.length = 0

  const traced = { ...auth, traceparent: valid }
  await app.inject({ url: '/v1/notes', headers: traced })
  await app.inject({ url: '/v1/notes', headers: auth })
  const invalid = { ...auth, traceparent: `${valid}, ${valid}` }
  await app.inject({ url: '/v1/notes', headers: invalid })

  t.same(
    lines.map(({ msg, trace_id }) => [msg, trace_id]),
    [
      ['internal_error', traceId],
      ['request', traceId],
      ['internal_error', undefined],
      ['request', undefined],
      ['internal_error', undefined],
      ['request', undefined]
    ]
  )
})
