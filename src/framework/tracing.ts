// Makes a span of each request with the SDK of OpenTelemetry. This file is
// loaded only if traces are on.
import { setTimeout as sleep } from 'node:timers/promises'
import {
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
import { operationIdOf } from './http/request-log.ts'
import { onceAMinute } from './once-a-minute.ts'

/** Milliseconds for an export, also of the last spans at shutdown. */
const exportTimeoutMs = 2000

interface Options {
  /** The name of the service. */
  name: string
  version: string
}

/**
 * Traces requests, and exports their spans to a collector, which never delays a
 * request. Handlers find the request's span with `trace.getActiveSpan()`.
 *
 * @fastify/otel would make a span for each hook and handler, and record paths
 * that are unknown here, in which people may paste secrets.
 */
export const tracing = fp<Options>(
  (app, { name, version }) => {
    warnOfFaults(app.log)
    const provider = createProvider(name, version)
    provider.register()
    const tracer = trace.getTracer(name, version)

    app.addHook('onRequest', (request, reply, done) => {
      if (operationIdOf(request) === undefined) return done()

      const parentContext = propagation.extract(ROOT_CONTEXT, request.headers)
      const span = tracer.startSpan(
        `${request.method} ${request.routeOptions.url}`,
        { kind: SpanKind.SERVER },
        parentContext
      )

      reply.raw.once('close', () => endSpan(span, request, reply))
      const { traceId: trace_id, spanId: span_id } = span.spanContext()
      request.log = app.log.child({ reqId: request.id, trace_id, span_id })
      context.with(trace.setSpan(parentContext, span), done)
    })

    app.addHook('onClose', async () => {
      const timeout = sleep(exportTimeoutMs, undefined, { ref: false }).then(
        () => Promise.reject(new Error('the exports take too long'))
      )
      await Promise.race([provider.shutdown(), timeout]).catch(
        (error: unknown) => {
          app.log.warn({ err: error }, 'traces: the last spans are lost')
        }
      )
      diag.disable()
    })
  },
  { name: 'tracing' }
)

/** Makes the SDK, which reads its variables from the environment. */
function createProvider(name: string, version: string): NodeTracerProvider {
  const service = { 'service.name': name, 'service.version': version }
  const environment = detectResources({ detectors: [envDetector] })
  const exporter = new OTLPTraceExporter({ timeoutMillis: exportTimeoutMs })

  return new NodeTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes(service))
      .merge(environment),
    spanProcessors: [new BatchSpanProcessor(exporter)]
  })
}

/** @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/ */
function endSpan(
  span: Span,
  { method, routeOptions, errorCode }: FastifyRequest,
  { raw }: FastifyReply
): void {
  const { headersSent, statusCode } = raw

  span.setAttributes({
    'http.request.method': method,
    'http.route': routeOptions.url,
    'http.response.status_code': headersSent ? statusCode : undefined,
    'error.type': errorCode
  })

  // A 4xx is an error of the client only.
  const isError = statusCode >= 500 || errorCode === 'aborted'
  if (isError) span.setStatus({ code: SpanStatusCode.ERROR })

  span.end()
}

/** Logs faults of the SDK: the collector may be away for hours. */
function warnOfFaults(log: FastifyBaseLogger): void {
  const warn = onceAMinute((message: string, ...details: unknown[]) =>
    log.warn({ details }, `traces: ${message}`)
  )
  diag.setLogger(
    { error: warn, warn, info: warn, debug: warn, verbose: warn },
    DiagLogLevel.WARN
  )
}
