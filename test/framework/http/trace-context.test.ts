import t from 'tap'
import { traceIdOf } from '../../../src/framework/http/trace-context.ts'
import { recorder } from '../../support/recorder.ts'
import { breakNotes, startNotes } from '../../support/notes.ts'

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const parentId = '00f067aa0ba902b7'
const valid = `00-${traceId}-${parentId}-01`

const idOf = (traceparent: string | undefined) =>
  traceIdOf({ headers: { traceparent } })

const withTraceId = {
  'an unsampled trace': `00-${traceId}-${parentId}-00`,
  'unknown flags': `00-${traceId}-${parentId}-ff`,
  'a later version': `01-${traceId}-${parentId}-01`,
  'a later version with more': `cc-${traceId}-${parentId}-01-what-follows`
}

const withoutTraceId = {
  'no header': undefined,
  'an empty header': '',
  'version ff': `ff-${traceId}-${parentId}-01`,
  'more in version 00': `${valid}-`,
  'more in a later version without a dash': `01-${traceId}-${parentId}-01.x`,
  'a trace id of zeros': `00-${'0'.repeat(32)}-${parentId}-01`,
  'a parent id of zeros': `00-${traceId}-${'0'.repeat(16)}-01`,
  'upper case': valid.toUpperCase(),
  'a short trace id': `00-${traceId.slice(1)}-${parentId}-01`,
  'two headers': `${valid}, ${valid}`
}

t.test('a valid traceparent has a trace id', (t) => {
  t.equal(idOf(valid), traceId)
  for (const [what, header] of Object.entries(withTraceId))
    t.equal(idOf(header), traceId, what)
  t.end()
})

t.test('an invalid traceparent is ignored', (t) => {
  for (const [what, header] of Object.entries(withoutTraceId))
    t.equal(idOf(header), undefined, what)
  t.end()
})

t.test('each line of a request has its trace id', async (t) => {
  const { lines, log } = recorder()
  const { app, auth, databaseUrl } = await startNotes(t, { log })
  await breakNotes(databaseUrl)
  lines.length = 0

  const traced = { ...auth, traceparent: valid }
  await app.inject({ url: '/v1/notes', headers: traced })
  await app.inject({ url: '/v1/notes', headers: auth })

  t.same(
    lines.map(({ msg, trace_id }) => [msg, trace_id]),
    [
      ['internal_error', traceId],
      ['request', traceId],
      ['internal_error', undefined],
      ['request', undefined]
    ]
  )
})
