import { setTimeout as sleep } from 'node:timers/promises'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes
} from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  TracerProvider
} from '@opentelemetry/sdk-trace'
import type { Span } from '@opentelemetry/api'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Names } from '../api.ts'
import type { Config } from '../config.ts'
import { apiKeyMask } from '../log.ts'
import { traceIdOf } from '../http/trace-context.ts'
import { inSpan, useTracer } from './spans.ts'
import { stopPretenuring } from './pretenuring.ts'
import { ReportingExporter } from './reporting-exporter.ts'
import { startRequestSpan } from './request-spans.ts'
import { samplingOf } from './sampling.ts'
import { ignoreSdkWarnings, logSdkWarnings } from './sdk-warnings.ts'
import { maxLinks, SpanTracer } from './span-tracer.ts'

/** Spans that may wait for their export. Further ones are lost. */
const maxQueueSize = 2048

/** Characters of an attribute, such as a path. */
const maxAttributeLength = 256

/** Milliseconds for the last spans at shutdown. */
const maxFlushMs = 2000

interface Options {
  /** URL of the collector. */
  endpoint: string
  /** Its OTEL_TRACES_SAMPLER selects the requests to trace. */
  config: Config
  names: Names
  version: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The span of a sampled request, while traces are on. */
    span: Span | undefined
  }
}

/**
 * Traces requests, and exports the spans to a collector. A collector that is
 * slow or away never delays a request. The last spans are exported when the app
 * closes.
 */
export const traces = fp<Options>(
  (app, { endpoint, config, names, version }) => {
    // Before the provider, which warns of variables that it cannot read.
    logSdkWarnings(app.log)
    stopPretenuring()
    const provider = providerFor(
      endpoint,
      resourceOf(names.service, version),
      app.log
    )
    const withoutApiKeys = apiKeyMask(names.apiKeyPrefix)
    const source = provider.getTracer(names.service, version)
    const isSampled = samplingOf(config)
    useTracer(new SpanTracer(source))

    app.decorateRequest('span', undefined)

    app.addHook('onRequest', (request, reply, done) => {
      const span = startRequestSpan(
        source,
        isSampled,
        withoutApiKeys,
        request,
        reply
      )
      if (span !== undefined) {
        request.span = span
        request.log = logWithTraceId(app.log, request, span)
      }
      done()
    })

    // Only around the handler: an earlier hook may await, and lose the span.
    app.addHook('preHandler', ({ span }, _reply, done) => {
      inSpan(span, done)
    })

    app.addHook('onClose', async () => {
      useTracer(undefined)
      // Failures have been logged.
      const flushed = provider.shutdown().catch(() => {})
      await Promise.race([
        flushed,
        sleep(maxFlushMs, undefined, { ref: false })
      ])
      ignoreSdkWarnings()
    })
  },
  { name: 'traces' }
)

/**
 * The log of a request, with its trace id if the caller has not sent one. It is
 * a child of the app's log, as the log of every request: a child of the
 * request's log would have a prototype of its own, and V8 is slow with many
 * prototypes.
 */
function logWithTraceId(
  appLog: FastifyBaseLogger,
  request: FastifyRequest,
  span: Span
): FastifyBaseLogger {
  if (traceIdOf(request) !== undefined) return request.log
  const { traceId } = span.spanContext()
  return appLog.child({ reqId: request.id, trace_id: traceId })
}

function providerFor(
  endpoint: string,
  resource: Resource,
  log: FastifyBaseLogger
): TracerProvider {
  const url = `${endpoint.replace(/\/$/, '')}/v1/traces`
  const exporter = new ReportingExporter(new OTLPTraceExporter({ url }), log)

  return new TracerProvider({
    resource,
    // samplingOf() has decided before.
    sampler: new AlwaysOnSampler(),
    spanLimits: {
      attributeValueLengthLimit: maxAttributeLength,
      linkCountLimit: maxLinks
    },
    spanProcessors: [new BatchSpanProcessor({ exporter, maxQueueSize })]
  })
}

/** The SDK, the service, and what the environment says of it. */
function resourceOf(serviceName: string, version: string): Resource {
  const service = resourceFromAttributes({
    'service.name': serviceName,
    'service.version': version
  })
  const environment = detectResources({ detectors: [envDetector] })

  return defaultResource().merge(service).merge(environment)
}
