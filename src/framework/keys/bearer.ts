import bearerAuth, { type verifyBearerAuth } from '@fastify/bearer-auth'
import type {
  FastifyBaseLogger,
  FastifyError,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler
} from 'fastify'
import fp from 'fastify-plugin'
import type { Names } from '../api.ts'
import type { Config } from '../config.ts'
import { HttpError } from '../http/errors.ts'
import type { Metrics } from '../metrics.ts'
import type { Database } from '../postgres/database.ts'
import type { ApiKeyCheck } from './key.ts'
import { networkOf, RateLimiter } from './rate-limit.ts'
import { ApiKeyStore } from './store.ts'
import { ApiKeyVerifier } from './verifier.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by `requireApiKey`, unless the key could not be looked up. */
    apiKeyCheck: ApiKeyCheck | undefined
  }

  interface FastifyInstance {
    /**
     * Makes the hook of an operation that needs these scopes. It admits
     * requests with a valid API key, within the rate limit of the key, if the
     * key has all of the scopes. Others get, in this order: 503 if the key
     * cannot be looked up; 401, or 429 if their address has sent too many
     * invalid keys; 429 if the key is over its limit; 403 if it lacks a scope.
     */
    requireApiKey: (neededScopes: string[]) => onRequestHookHandler
  }
}

interface Options {
  names: Names
  database: Database
  config: Config
}

/** The errors of RFC 6750, section 3.1, for the API with this realm. */
function errorsOf(realm: string) {
  /** The header WWW-Authenticate of section 3. */
  const challenge = (...parameters: string[]) => ({
    'www-authenticate':
      'Bearer ' + [`realm="${realm}"`, ...parameters].join(', ')
  })

  const keyRequired = new HttpError(
    401,
    'unauthorized',
    'An API key is required: send the header "Authorization: Bearer <API_KEY>"',
    challenge()
  )

  const keyInvalid = new HttpError(
    401,
    'unauthorized',
    'The API key is not valid',
    challenge('error="invalid_token"')
  )

  /** A scope has no quotes or backslashes. */
  function insufficientScope(neededScopes: string[]): HttpError {
    const scope = neededScopes.join(' ')

    return new HttpError(
      403,
      'insufficient_scope',
      `The API key lacks the scope of this operation: ${scope}`,
      challenge('error="insufficient_scope"', `scope="${scope}"`)
    )
  }

  return { keyRequired, keyInvalid, insufficientScope }
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
 * - It has one error for a malformed header and for an invalid token. Only an
 *   invalid token has an `apiKeyCheck`.
 * - It logs each error; the access log already has them.
 * - Its default rejects `bearer` in lower case; schemes are case-insensitive
 *   (RFC 9110, section 11.1).
 * - It has no scopes.
 * - It has no rate limits. An address over its limit gets 429 only for a
 *   request whose key is missing, malformed, or was looked up and found
 *   invalid: a new key must work immediately, whatever the address has sent
 *   before.
 *
 * Rejections are not delayed: the service would hold the connections of an
 * attacker open at its own expense.
 */
export const apiKeys = fp<Options>(
  async (app, { names, database, config }) => {
    const { apiKeyPrefix, realm } = names
    const store = new ApiKeyStore(database, apiKeyPrefix)
    const verifier = new ApiKeyVerifier(store, apiKeyPrefix)
    const errors = errorsOf(realm)
    const limits = limitsOf(config, app.log, app.metrics)

    await app.register(bearerAuth, {
      addHook: false,
      keys: [],
      specCompliance: 'rfc6749',
      verifyErrorLogLevel: 'silent',
      async auth(token, request) {
        request.apiKeyCheck = await verifier.check(token)
        return request.apiKeyCheck.state === 'valid'
      }
    })
    const verify = app.getDecorator<verifyBearerAuth>('verifyBearerAuth')

    app.decorateRequest('apiKeyCheck', undefined)
    app.decorate('requireApiKey', (neededScopes) => {
      const forbidden = errors.insufficientScope(neededScopes)

      return (request, reply, done) =>
        verify(request, reply, (error) => {
          if (isUnauthorized(error)) {
            const tooMany = countRejected(limits, request, reply)
            const { keyRequired, keyInvalid } = errors
            const isAbsent = request.apiKeyCheck?.state === 'absent'
            return done(tooMany ?? (isAbsent ? keyRequired : keyInvalid))
          }
          // The key could not be looked up.
          if (error !== undefined) return done(error)

          const { apiKeyCheck } = request
          const tooManyRequests = limits.admitted.count(
            String(apiKeyCheck?.id),
            reply
          )
          if (tooManyRequests !== undefined) return done(tooManyRequests)
          if (!hasScopes(apiKeyCheck, neededScopes)) return done(forbidden)

          return done()
        })
    })
  },
  { name: 'api-keys' }
)

type Limits = ReturnType<typeof limitsOf>

const limitsOf = (
  config: Config,
  log: FastifyBaseLogger,
  metrics: Metrics
) => ({
  admitted: new RateLimiter(
    {
      policy: 'key',
      maxPerMinute: config.MAX_REQUESTS_PER_MINUTE,
      requestDescription: 'with this API key',
      report: (id) => log.warn({ key: id }, 'a key exceeds its rate limit')
    },
    metrics
  ),
  rejected: new RateLimiter(
    {
      policy: 'rejected',
      maxPerMinute: config.MAX_REJECTED_KEYS_PER_MINUTE,
      requestDescription: 'without a valid API key from this address',
      report: (network) =>
        log.warn({ network }, 'an address sends too many invalid API keys')
    },
    metrics
  )
})

/** Whether a key in the store has all of the scopes. */
function hasScopes(
  apiKeyCheck: ApiKeyCheck | undefined,
  neededScopes: string[]
): boolean {
  const scopes = apiKeyCheck?.scopes
  return scopes === null || neededScopes.every((one) => scopes?.includes(one))
}

/** Whether it is the 401 that @fastify/bearer-auth makes. */
const isUnauthorized = (error?: Partial<FastifyError>): boolean =>
  error?.statusCode === 401

/** Counts a request without a valid key. Returns 429 if it is one too many. */
function countRejected(
  { rejected }: Limits,
  request: FastifyRequest,
  reply: FastifyReply
): HttpError | undefined {
  // Without a token, there was nothing to check.
  request.apiKeyCheck ??= { state: 'absent' }
  const { authFailures } = request.server.metrics
  authFailures.inc({ reason: request.apiKeyCheck.state })

  return rejected.count(networkOf(request.ip), reply)
}
