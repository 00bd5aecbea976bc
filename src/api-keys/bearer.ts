import bearerAuth, { type verifyBearerAuth } from '@fastify/bearer-auth'
import type {
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler
} from 'fastify'
import fp from 'fastify-plugin'
import { type Config, serviceName } from '../config.ts'
import { HttpError } from '../http/errors.ts'
import type { Database } from '../postgres/database.ts'
import type { KeyCheck } from './key.ts'
import { networkOf, RateLimiter } from './rate-limit.ts'
import { KeyStore } from './store.ts'
import { KeyVerifier } from './verifier.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `requireApiKey`, unless the key could not be looked up. */
    apiKey: KeyCheck | undefined
  }

  interface FastifyInstance {
    /**
     * Admits requests with a valid API key, within the rate limit of the key.
     * Others get 401; 429 if their address has sent too many invalid keys; or
     * 503 if the key cannot be looked up.
     */
    requireApiKey: onRequestHookHandler
  }
}

interface Options {
  database: Database
  config: Config
}

/** The 401 of RFC 6750, section 3.1. */
const unauthorized = (message: string, error = '') =>
  new HttpError(401, 'unauthorized', message, {
    'www-authenticate': `Bearer realm="${serviceName}"${error}`
  })

const keyRequired = unauthorized(
  'An API key is required: send the header "Authorization: Bearer <API_KEY>"'
)

const keyInvalid = unauthorized(
  'The API key is not valid',
  ', error="invalid_token"'
)

/** The token of a request is not a valid API key. */
class InvalidToken extends Error {
  readonly code = 'invalid_token'
}

/**
 * The plugin that decorates the app with the hook `requireApiKey`.
 *
 * @fastify/bearer-auth takes the token out of the Authorization header, and
 * `auth` checks it. What the plugin lacks is added here:
 *
 * - Its 401 has neither the Error body nor a challenge (WWW-Authenticate), and
 *   its own hook turns a failed look-up into a 500. `addHook: false` passes its
 *   errors to `requireApiKey` instead.
 * - It has one error for a malformed header and for an invalid token, so `auth`
 *   throws InvalidToken.
 * - It logs each error; the access log already has them.
 * - Its default rejects `bearer` in lower case; schemes are case-insensitive
 *   (RFC 9110, section 11.1).
 * - It has no rate limits. An address over its limit gets 429 only for a
 *   request whose key is missing, malformed, or was looked up and found
 *   invalid: a new key must work at once, whatever the address has sent before.
 *
 * Rejections are not delayed: the service would hold the connections of an
 * attacker open at its own expense.
 */
export const apiKeys = fp<Options>(
  async (app, { database, config }) => {
    const verifier = new KeyVerifier(new KeyStore(database))
    const limits = limitsOf(config)

    await app.register(bearerAuth, {
      addHook: false,
      keys: [],
      specCompliance: 'rfc6749',
      verifyErrorLogLevel: 'silent',
      async auth(apiKey, request) {
        const isSuspect = () => limits.rejected.isReached(networkOf(request.ip))
        request.apiKey = await verifier.check(apiKey, isSuspect)
        if (request.apiKey.state !== 'valid') throw new InvalidToken()
        return true
      }
    })
    const verify = app.getDecorator<verifyBearerAuth>('verifyBearerAuth')

    app.decorateRequest('apiKey', undefined)
    app.decorate('requireApiKey', (request, reply, done) =>
      verify(request, reply, (error) => {
        if (error !== undefined) done(reject(error, limits, request, reply))
        else done(limits.admitted.count(request.apiKey?.id, reply))
      })
    )
  },
  { name: 'api-keys' }
)

type Limits = ReturnType<typeof limitsOf>

const limitsOf = (config: Config) => ({
  admitted: new RateLimiter({
    policy: 'key',
    maxPerMinute: config.MAX_REQUESTS_PER_MINUTE,
    requests: 'with this API key'
  }),
  rejected: new RateLimiter({
    policy: 'rejected',
    maxPerMinute: config.MAX_REJECTED_KEYS_PER_MINUTE,
    requests: 'without a valid API key from this address'
  })
})

/** Returns the error of a request that @fastify/bearer-auth has rejected. */
function reject(
  error: Error & { code?: unknown },
  { rejected }: Limits,
  request: FastifyRequest,
  reply: FastifyReply
): Error {
  const address = networkOf(request.ip)
  switch (error.code) {
    // No bearer token: the header is missing, has another scheme, or no token.
    case 'FST_BEARER_AUTH_MISSING_AUTHORIZATION_HEADER':
    case 'FST_BEARER_AUTH_INVALID_AUTHORIZATION_HEADER':
      request.apiKey = { state: 'absent' }
      return rejected.count(address, reply) ?? keyRequired

    // Invalid token.
    case 'invalid_token':
      return rejected.count(address, reply) ?? keyInvalid

    // The key could not be looked up.
    default:
      return error
  }
}
