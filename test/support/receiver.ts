// A receiver of OTLP over HTTP in JSON.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'
import { listenOnLoopback } from './loopback.ts'

type KeyValues = { key: string; value: Record<string, unknown> }[]

/** A span as OTLP has it. */
interface OtlpSpan {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: KeyValues
  events: { name: string }[]
  status: { code: number }
}

interface ExportRequest {
  resourceSpans: {
    resource: { attributes: KeyValues }
    scopeSpans: { spans: OtlpSpan[] }[]
  }[]
}

/** Values of the enumerations of OTLP. */
export const kind = { server: 2, client: 3 }
const errorStatus = 2

/** Accept spans, reject them, or never respond. */
type Behaviour = 'accept' | 'reject' | 'hang'

/** Starts a receiver, which is stopped when the test ends. */
export async function startReceiver(t: Test) {
  /** Also those that it rejects. */
  const spans: ReceivedSpan[] = []
  let behaviour: Behaviour = 'accept'

  const server = createServer((request, response) => {
    const respond = (body: unknown) => {
      spans.push(...spansIn(body as ExportRequest))
      if (behaviour === 'hang') return
      response.writeHead(behaviour === 'accept' ? 200 : 400).end('{}')
    }
    // A request that ends early is of a service that has been stopped.
    json(request).then(respond, () => {})
  })
  const port = await listenOnLoopback(t, server)

  return {
    /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    /** Responds from now on like this. */
    respond: (next: Behaviour) => {
      behaviour = next
    }
  }
}

export type ReceivedSpan = ReturnType<typeof spansIn>[number]

const spansIn = ({ resourceSpans }: ExportRequest) =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map(({ attributes, events, status, ...span }) => ({
        ...span,
        attributes: valuesOf(attributes),
        events: events.map(({ name }) => name),
        isError: status.code === errorStatus,
        resource: valuesOf(resource.attributes)
      }))
  )

/** The only property of an AnyValue is its value. */
const valuesOf = (attributes: KeyValues): Record<string, unknown> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, Object.values(value)[0]])
  )
