import bearerAuth, { type verifyBearerAuth } from '@fastify/bearer-auth'
import type { onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { Config } from '../config.ts'
import { HttpError } from '../errors.ts'
import type { Database } from '../postgres/database.ts'
import { makeFindApiKey } from './find-api-key.ts'
import { makeCheckRateLimit } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Makes the hook of an operation that needs these scopes. It admits
     * requests with a valid API key, within its rate limit, if it has all of
     * the scopes. Other requests get, in this order: 503 if the API key cannot
     * be looked up; 401 if it is not valid; 429 if it is over its limit; 403 if
     * it lacks a scope.
     */
    makeAuthorizationHook: (neededScopes: string[]) => onRequestHookHandler
  }
}

interface Options {
  database: Database
  config: Config
}

/**
 * The plugin that decorates the app with `makeAuthorizationHook`.
 *
 * @fastify/bearer-auth takes the token out of the Authorization header, and
 * `auth` finds its API key. Its own hook would send another body than Error,
 * and a 500 for a failed look-up: `addHook: false` passes its errors to the hooks
 * of `makeAuthorizationHook`, which add challenges, scopes and rate limits. The
 * specification of OAuth lets it accept `bearer` in lower case.
 *
 * Rejections are not delayed: the service would hold the connections of an
 * attacker open at its own expense.
 */
export const bearerAuthentication = fp<Options>(
  async (app, { database, config }) => {
    const findApiKey = makeFindApiKey(database)
    const checkRateLimit = makeCheckRateLimit(config.MAX_REQUESTS_PER_MINUTE)

    app.decorateRequest('apiKey', undefined)
    await app.register(bearerAuth, {
      addHook: false,
      keys: [],
      specCompliance: 'rfc6749',
      verifyErrorLogLevel: 'silent',
      async auth(token, request) {
        request.apiKey = await findApiKey(token)
        return request.apiKey !== undefined
      }
    })
    const verify = app.getDecorator<verifyBearerAuth>('verifyBearerAuth')

    app.decorate('makeAuthorizationHook', (neededScopes) => {
      const insufficientScopeError = createInsufficientScopeError(neededScopes)

      return (request, reply, done) =>
        verify(request, reply, (error?: Error & { statusCode?: number }) => {
          const { apiKey } = request
          if (apiKey === undefined) {
            // The look-up failed.
            if (error !== undefined && error.statusCode !== 401)
              return done(error)
            const { authorization } = request.headers
            return done(
              authorization ? apiKeyInvalidError : apiKeyRequiredError
            )
          }

          const { name, scopes } = apiKey
          const isAllowed =
            scopes === null ||
            neededScopes.every((scope) => scopes.includes(scope))
          const limitError = checkRateLimit(name, reply)
          done(limitError ?? (isAllowed ? undefined : insufficientScopeError))
        })
    })
  },
  { name: 'bearer-authentication' }
)

/** The challenge of RFC 6750, section 3. */
const challenge = (parameters = '') => ({
  'www-authenticate': `Bearer realm="pet-categories"${parameters}`
})

const apiKeyRequiredError = new HttpError(
  401,
  'unauthorized',
  'An API key is required: send the header "Authorization: Bearer <API_KEY>"',
  challenge()
)

const apiKeyInvalidError = new HttpError(
  401,
  'unauthorized',
  'The API key is not valid',
  challenge(', error="invalid_token"')
)

function createInsufficientScopeError(neededScopes: string[]): HttpError {
  // A scope has no quotes or backslashes.
  const scope = neededScopes.join(' ')
  return new HttpError(
    403,
    'insufficient_scope',
    `The API key lacks the scope of this operation: ${scope}`,
    challenge(`, error="insufficient_scope", scope="${scope}"`)
  )
}
