import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest
} from 'fastify'
import type { Config } from '../config.ts'
import type { Metrics } from '../metrics.ts'
import { connectionOptions, type NewestReplies } from './connections.ts'
import { defaultHeaders } from './default-headers.ts'
import { badRequest } from '../errors.ts'
import { sendError } from './error-responses.ts'
import { AccessLog, requestId } from './access-log.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Set at shutdown, while requests are still served. */
    isDraining: boolean
  }
}

/** RFC 9112, section 3.2. */
const noHost = badRequest('The request must have a Host header')

/**
 * Creates Fastify with default headers, an Error body for each error, and
 * limits for connections.
 *
 * At shutdown, each response closes its connection, so that clients reconnect
 * to another replica.
 */
export function createFastify(
  config: Config,
  metrics: Metrics,
  log: FastifyBaseLogger
): FastifyInstance {
  const newestReplies: NewestReplies = new WeakMap()

  function begin({ id, raw }: FastifyRequest, reply: FastifyReply): void {
    newestReplies.set(raw.socket, reply)
    reply.headers(defaultHeaders(id))
  }

  const app = Fastify({
    ...connectionOptions(config, metrics, newestReplies),
    loggerInstance: log,
    logController: new AccessLog(),
    genReqId: requestId,
    // The proxy in front tells the address of its client. With the number of
    // proxies in place of a function, Fastify would trust none of them.
    trustProxy: (_address, hop) => hop === 0,
    // Node.js limits the whole URL, with the headers.
    routerOptions: { maxParamLength: 65536 },
    // While closing, requests on open connections are served, with
    // Connection: close.
    return503OnClosing: false,
    // For a URL that is no URL, before the hooks.
    frameworkErrors: (error, request, reply) => {
      begin(request, reply)
      sendError(error, request, reply)
    }
  })
  app.decorate('metrics', metrics)
  app.decorate('isDraining', false)
  app.decorateRequest('errorCode', undefined)
  app.setErrorHandler(sendError)
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    const { headers, httpVersion } = request.raw
    const lacksHost = headers.host === undefined && httpVersion === '1.1'
    done(lacksHost ? noHost : undefined)
  })
  // An onRequest hook would miss requests that came before the shutdown.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (app.isDraining) reply.header('connection', 'close')
    done(null, payload)
  })

  return app
}
