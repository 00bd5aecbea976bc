import bearerAuth, { type verifyBearerAuth } from '@fastify/bearer-auth'
import type {
  FastifyError,
  FastifyInstance,
  onRequestHookHandler
} from 'fastify'
import { type Config, serviceName } from '../config.ts'
import { HttpError } from '../http/errors.ts'
import type { Database } from '../postgres/database.ts'
import { keyVerifier } from './cache.ts'
import type { KeyCheck } from './key.ts'
import { networkOf, rateLimiter } from './rate-limit.ts'
import { keyStore } from './store.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The API key of the request, once it has been checked. */
    apiKey: KeyCheck | undefined
  }
}

/** The 401 of RFC 6750, section 3.1. */
const unauthorized = (message: string, error = '') =>
  new HttpError(401, 'unauthorized', message, {
    'www-authenticate': `Bearer realm="${serviceName}"${error}`
  })
const absent = unauthorized(
  'An API key is required: send the header "Authorization: Bearer <API_KEY>"'
)
const invalid = unauthorized(
  'The API key is not valid',
  ', error="invalid_token"'
)

/**
 * Returns a hook that admits requests with a valid API key, within the rate limit of the key. Others get 401; 429 over the
 * limit of the key or, without a valid one, of the address; or 503 if the database is unavailable.
 */
export async function requireApiKey(
  app: FastifyInstance,
  database: Database,
  config: Config
) {
  const check = keyVerifier(keyStore(database))
  const admitted = rateLimiter(
    'key',
    config.MAX_REQUESTS_PER_MINUTE,
    'with this API key'
  )
  const rejected = rateLimiter(
    'rejected',
    config.MAX_REJECTED_KEYS_PER_MINUTE,
    'without a valid API key from this address'
  )

  await app.register(bearerAuth, {
    keys: [],
    addHook: false,
    // Accepts the scheme in lower case too (RFC 9110).
    specCompliance: 'rfc6749',
    // The request log has the reason.
    verifyErrorLogLevel: 'silent',
    async auth(key, request) {
      request.apiKey = await check(
        key,
        () => !rejected.isReached(networkOf(request.ip))
      )
      return request.apiKey.state === 'valid'
    }
  })
  const verify = app.getDecorator<verifyBearerAuth>('verifyBearerAuth')

  app.decorateRequest('apiKey', undefined)
  const hook: onRequestHookHandler = (request, reply, done) =>
    verify(request, reply, (error) => {
      if (error === undefined)
        return done(admitted.count(request.apiKey?.id, reply))
      if (!(error as FastifyError).code?.startsWith('FST_BEARER_AUTH_'))
        return done(error)
      request.apiKey ??= { id: null, state: 'absent' }
      done(
        rejected.count(networkOf(request.ip), reply) ??
          (request.apiKey.state === 'absent' ? absent : invalid)
      )
    })
  return hook
}
