import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer as SpanSource
} from '@opentelemetry/api'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isOutsideApi, pathOf } from '../http/access-log.ts'
import { type RemoteSpan, remoteSpanOf } from '../http/trace-context.ts'
import type { Sampling } from './sampling.ts'

/** The methods that OpenTelemetry knows. Node.js accepts more. */
const knownMethods = new Set([
  'CONNECT',
  'DELETE',
  'GET',
  'HEAD',
  'OPTIONS',
  'PATCH',
  'POST',
  'PUT',
  'TRACE'
])

/**
 * Starts the span of a request, if it is sampled. It ends with the response, or
 * when the client disconnects before.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/http/http-spans/
 *
 * @param withoutApiKeys masks the API keys in a path
 */
export function startRequestSpan(
  source: SpanSource,
  isSampled: Sampling,
  withoutApiKeys: (text: string) => string,
  request: FastifyRequest,
  reply: FastifyReply
): Span | undefined {
  const caller = remoteSpanOf(request)
  if (!isSampled(caller) || isOutsideApi(request)) return undefined

  const span = source.startSpan(
    nameOf(request),
    {
      kind: SpanKind.SERVER,
      attributes: attributesOf(request, withoutApiKeys)
    },
    contextOf(caller)
  )

  reply.raw.once('close', () => end(span, request, reply))

  return span
}

function nameOf({ method, routeOptions }: FastifyRequest): string {
  const { url: route } = routeOptions
  if (route !== undefined) return `${method} ${route}`

  return knownMethods.has(method) ? method : 'HTTP'
}

/** Below the span of the caller, or a new trace. */
function contextOf(caller: RemoteSpan | undefined): Context {
  if (caller === undefined) return ROOT_CONTEXT

  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId: caller.traceId,
    spanId: caller.spanId,
    traceFlags: caller.isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true
  })
}

/** The path of an unknown route may be anything: only the log has it. */
function attributesOf(
  request: FastifyRequest,
  withoutApiKeys: (text: string) => string
) {
  const { method, protocol, routeOptions } = request
  const always = { ...attributesOfMethod(method), 'url.scheme': protocol }
  const { url: route } = routeOptions
  if (route === undefined) return always

  const path = withoutApiKeys(pathOf(request))

  return { ...always, 'http.route': route, 'url.path': path }
}

function attributesOfMethod(method: string): Attributes {
  if (knownMethods.has(method)) return { 'http.request.method': method }

  return {
    'http.request.method': '_OTHER',
    'http.request.method_original': method
  }
}

function end(span: Span, request: FastifyRequest, reply: FastifyReply): void {
  const { errorCode } = request
  const { headersSent, statusCode, writableEnded } = reply.raw

  if (headersSent) span.setAttribute('http.response.status_code', statusCode)
  if (errorCode !== undefined) span.setAttribute('error.type', errorCode)
  if (!writableEnded) span.setAttribute('error.type', 'aborted')

  // A 4xx is an error of the client only.
  const isError = statusCode >= 500 || !writableEnded
  if (isError) span.setStatus({ code: SpanStatusCode.ERROR })

  span.end()
}
