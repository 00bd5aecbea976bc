// A receiver of OTLP over HTTP in JSON, from the service or from a collector.
import {
  createServer,
  type IncomingMessage,
  type ServerResponse
} from 'node:http'
import { json } from 'node:stream/consumers'
import type { Test } from 'tap'
import { listenOnLoopback } from './loopback.ts'

/** An AnyValue of OTLP: one of its properties is set. */
interface AnyValue {
  stringValue?: string
  /** Text from a collector. */
  intValue?: number | string
  doubleValue?: number
}

type KeyValues = { key: string; value: AnyValue }[]

/** A span as OTLP has it: a collector leaves out what is empty. */
interface OtlpSpan {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId?: string
  attributes: KeyValues
  links?: { traceId: string; spanId: string; attributes?: KeyValues }[]
  events?: { name: string }[]
  status: { code?: number }
}

interface ExportRequest {
  resourceSpans: {
    resource: { attributes: KeyValues }
    scopeSpans: { spans: OtlpSpan[] }[]
  }[]
}

type Attributes = Record<string, string | number | undefined>

export interface ReceivedSpan {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId: string | undefined
  attributes: Attributes
  /** The ids of the linked spans. */
  links: string[]
  linkAttributes: Attributes[]
  events: string[]
  isError: boolean
  resource: Attributes
}

export interface Receiver {
  /** For OTEL_EXPORTER_OTLP_ENDPOINT. */
  endpoint: string
  /** Those received so far. */
  spans: ReceivedSpan[]
  /** The path of each request. */
  paths: string[]
  /** Responds from now on like this. */
  respond: (behaviour: Behaviour) => void
}

/** Accept spans, reject them, or never respond. */
type Behaviour = 'accept' | 'reject' | 'hang'

/** Values of the enumerations of OTLP. */
export const kind = { internal: 1, server: 2, client: 3 }
const errorStatus = 2

/** Starts a receiver, which is stopped when the test ends. */
export async function startReceiver(t: Test): Promise<Receiver> {
  const spans: ReceivedSpan[] = []
  const paths: string[] = []
  let behaviour: Behaviour = 'accept'

  async function receive(request: IncomingMessage, response: ServerResponse) {
    paths.push(String(request.url))
    const body = (await json(request)) as ExportRequest
    switch (behaviour) {
      case 'accept':
        spans.push(...spansIn(body))
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end('{}')
        break
      case 'reject':
        response.writeHead(400).end()
        break
      case 'hang':
    }
  }

  const server = createServer((request, response) => {
    // A request that ends early is of a service that has been stopped.
    receive(request, response).catch(() => {})
  })
  const port = await listenOnLoopback(t, server)

  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    paths,
    respond: (next) => {
      behaviour = next
    }
  }
}

function spansIn({ resourceSpans }: ExportRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => spanOf(span, attributesOf(resource.attributes)))
  )
}

function spanOf(span: OtlpSpan, resource: Attributes): ReceivedSpan {
  const { name, traceId, spanId, links = [], events = [] } = span

  return {
    name,
    kind: span.kind,
    traceId,
    spanId,
    parentSpanId: span.parentSpanId || undefined,
    attributes: attributesOf(span.attributes),
    links: links.map((link) => link.spanId),
    linkAttributes: links.map((link) => attributesOf(link.attributes)),
    events: events.map((event) => event.name),
    isError: span.status.code === errorStatus,
    resource
  }
}

const attributesOf = (attributes: KeyValues = []): Attributes =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? Number(value.intValue ?? value.doubleValue)
    ])
  )
