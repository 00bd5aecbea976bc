import bearerAuth, { type verifyBearerAuth } from '@fastify/bearer-auth'
import type { FastifyError, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import { type KeyCheck, type KeyVerifier, refreshInterval } from './cache.ts'
import { HttpError } from '../http/errors.ts'
import { flood } from './flood.ts'
import { networkOf, type RateLimitHeaders, rateLimiter, rateWindow } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** What is known of the API key that was sent, once it was looked at. */
    apiKey: KeyCheck | { id?: undefined; state: 'absent' } | undefined
    /** Whether it was rejected past the limit of its address. */
    isFlood: boolean
  }
  interface FastifyInstance {
    /** Lets a request with a valid API key pass; 401 (RFC 6750) without one, 429 past a limit, 503 when that cannot be known. */
    requireApiKey: onRequestHookHandler
  }
}

export interface AuthenticationOptions {
  keys: KeyVerifier
  /** Requests per minute with one key. 0 disables the limit. */
  rateLimit: number
  /** Rejected requests per minute for one address, beyond which a key that was not valid before is not looked up. 0 disables the limit. */
  failuresLimit: number
}

/** Bearer API keys, by @fastify/bearer-auth, and the limits on them; decorates the app with `requireApiKey`. */
export const authentication = fp<AuthenticationOptions>(async (app, { keys, rateLimit, failuresLimit }) => {
  const ofKey = rateLimiter<bigint | undefined>({
    name: 'key',
    max: rateLimit,
    message: 'Too many requests with this API key; wait for the seconds that Retry-After gives'
  })
  const ofAddress = rateLimiter<string>({
    name: 'refused',
    max: failuresLimit,
    message: 'Too many requests without a valid API key from this address; wait for the seconds that Retry-After gives'
  })
  const { turn, note, summarise } = flood(app.log)

  /** Counts or checks a request without a valid key. Who floods waits for a turn, and is out of the log. */
  async function limitRefusals(action: 'count' | 'check', request: FastifyRequest) {
    if (failuresLimit === 0) return undefined
    const network = networkOf(request.ip)
    try {
      return ofAddress[action](network)
    } catch (error) {
      request.isFlood = true
      note(request.ip)
      await turn()
      throw error
    }
  }

  async function isValid(key: string, isFamiliar: boolean, request: FastifyRequest): Promise<boolean> {
    if (!isFamiliar) await limitRefusals('check', request)
    request.apiKey = await keys.check(key)
    return request.apiKey.state === 'valid'
  }

  await app.register(bearerAuth, {
    keys: new Set<string>(),
    addHook: false,
    specCompliance: 'rfc6749',
    // The request's own line in the log says it.
    verifyErrorLogLevel: null as never,
    auth(key, request) {
      const { valid, isFamiliar } = keys.recall(key)
      request.apiKey = valid
      return valid !== undefined || isValid(key, isFamiliar, request)
    }
  })
  const verifyBearerAuth = app.getDecorator<verifyBearerAuth>('verifyBearerAuth')

  app.decorateRequest('apiKey', undefined)
  app.decorateRequest('isFlood', false)
  app.decorate('requireApiKey', (request, reply, done) => {
    verifyBearerAuth(request, reply, (error) => {
      if (error !== undefined) refuse(error, request).catch(done)
      else done(limitKey(request, reply))
    })
  })

  function limitKey(request: FastifyRequest, reply: FastifyReply): Error | undefined {
    if (rateLimit === 0) return undefined
    try {
      reply.headers(ofKey.count(request.apiKey?.id))
      return undefined
    } catch (error) {
      return error as Error
    }
  }

  async function refuse(error: Error, request: FastifyRequest): Promise<never> {
    // Of the key store, or of the limit.
    if (!(error as FastifyError).code?.startsWith('FST_BEARER_AUTH_')) throw error
    request.apiKey ??= { state: request.headers.authorization === undefined ? 'absent' : 'malformed' }
    throw refusal(request.headers.authorization, await limitRefusals('count', request))
  }

  const refreshing = setInterval(() => {
    // When the database cannot be asked, the keys age until a request has to ask and fails closed.
    keys.refresh().catch((error: unknown) => app.log.debug({ err: error }, 'keys were not looked up again'))
  }, refreshInterval)
  const summarising = setInterval(summarise, rateWindow)
  app.addHook('onClose', (_app, done) => {
    clearInterval(refreshing)
    clearInterval(summarising)
    summarise()
    done()
  })
})

const challenge = 'Bearer realm="pet-categories"'

/** The 401 of RFC 6750, section 3.1: `error` only when a token was sent. */
function refusal(authorization: string | undefined, headers: RateLimitHeaders | void): HttpError {
  if (authorization !== undefined && /^bearer +\S/i.test(authorization)) {
    return new HttpError(401, 'unauthorized', 'The API key is not valid', {
      ...headers,
      'www-authenticate': `${challenge}, error="invalid_token", error_description="The API key is not valid"`
    })
  }
  const message = 'An API key is required: send the header "Authorization: Bearer <API_KEY>"'
  return new HttpError(401, 'unauthorized', message, { ...headers, 'www-authenticate': challenge })
}
