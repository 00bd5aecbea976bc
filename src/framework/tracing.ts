// The SDK of OpenTelemetry, and the span of each request. Loaded only if traces
// are on: the SDK takes 16 MB of memory.
import { setTimeout as sleep } from 'node:timers/promises'
import { format } from 'node:util'
import {
  type Context,
  context,
  diag,
  DiagLogLevel,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes
} from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  NodeTracerProvider
} from '@opentelemetry/sdk-trace-node'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Names } from './api.ts'
import { isOutsideApi, pathOf } from './http/request-log.ts'
import { apiKeyMask } from './log.ts'

/** Milliseconds for the last spans at shutdown. */
const maxFlushMs = 2000

/** Milliseconds between two warnings: a collector may be away for hours. */
const warningIntervalMs = 60_000

interface Options {
  names: Names
  version: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Has the span of the request; undefined for a health check. */
    traceContext: Context | undefined
  }
}

/**
 * Traces requests, and exports their spans to a collector, which never delays a
 * request. What handles a request finds its span by `trace.getActiveSpan()`.
 */
export const tracing = fp<Options>(
  (app, { names, version }) => {
    warnOfFaults(app.log)
    const provider = registerProvider(names, version)
    const tracer = trace.getTracer(names.service, version)
    const withoutApiKeys = apiKeyMask(names.apiKeyPrefix)

    app.decorateRequest('traceContext', undefined)

    app.addHook('onRequest', (request, reply, done) => {
      if (isOutsideApi(request)) return done()

      const caller = propagation.extract(ROOT_CONTEXT, request.headers)
      const { name, attributes } = describe(request, withoutApiKeys)
      const options = { kind: SpanKind.SERVER, attributes }
      const span = tracer.startSpan(name, options, caller)

      reply.raw.once('close', () => endSpan(span, request, reply))
      request.log = app.log.child({ reqId: request.id, ...idsOf(span) })
      request.traceContext = trace.setSpan(caller, span)
      context.with(request.traceContext, done)
    })

    // Reading a body ends the context.
    app.addHook('preValidation', ({ traceContext }, _reply, done) => {
      context.with(traceContext ?? ROOT_CONTEXT, done)
    })

    app.addHook('onClose', async () => {
      const flushed = provider.shutdown().catch((error: unknown) => {
        app.log.warn({ err: error }, 'traces: the last spans are lost')
      })
      const limit = sleep(maxFlushMs, undefined, { ref: false })
      await Promise.race([flushed, limit])
      diag.disable()
    })
  },
  { name: 'tracing' }
)

/** Registers the SDK, which reads its variables from the environment. */
function registerProvider(names: Names, version: string): NodeTracerProvider {
  const service = resourceFromAttributes({
    'service.name': names.service,
    'service.version': version
  })
  const environment = detectResources({ detectors: [envDetector] })
  const provider = new NodeTracerProvider({
    resource: defaultResource().merge(service).merge(environment),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())]
  })
  provider.register()

  return provider
}

const idsOf = (span: Span) => {
  const { traceId, spanId } = span.spanContext()
  return { trace_id: traceId, span_id: spanId }
}

/**
 * The name and the attributes of the span of a request. The path of an unknown
 * route may be anything: only the log has it.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 */
function describe(
  request: FastifyRequest,
  withoutApiKeys: (text: string) => string
) {
  const { method, protocol, routeOptions } = request
  const always = { 'http.request.method': method, 'url.scheme': protocol }
  const { url: route } = routeOptions
  if (route === undefined) return { name: 'HTTP', attributes: always }

  const path = withoutApiKeys(pathOf(request))
  const attributes = { ...always, 'http.route': route, 'url.path': path }

  return { name: `${method} ${route}`, attributes }
}

function endSpan(
  span: Span,
  { errorCode }: FastifyRequest,
  { raw }: FastifyReply
): void {
  const { headersSent, statusCode, writableEnded } = raw

  if (headersSent) span.setAttribute('http.response.status_code', statusCode)
  if (errorCode !== undefined) span.setAttribute('error.type', errorCode)
  if (!writableEnded) span.setAttribute('error.type', 'aborted')

  // A 4xx is an error of the client only.
  const isError = statusCode >= 500 || !writableEnded
  if (isError) span.setStatus({ code: SpanStatusCode.ERROR })

  span.end()
}

/** Logs faults of the SDK, such as spans that cannot be exported. */
function warnOfFaults(log: FastifyBaseLogger): void {
  let silentUntil = 0
  const warn = (message: string, ...details: unknown[]) => {
    const now = performance.now()
    if (now < silentUntil) return

    silentUntil = now + warningIntervalMs
    log.warn(`traces: ${format(message, ...details)}`)
  }
  diag.setLogger(
    { error: warn, warn, info: warn, debug: warn, verbose: warn },
    // Nothing below warnings.
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true }
  )
}
