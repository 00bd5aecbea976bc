import bearerAuth, { type verifyBearerAuth } from '@fastify/bearer-auth'
import type { onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { Names } from '../api.ts'
import type { Config } from '../config.ts'
import { HttpError } from '../errors.ts'
import type { Database } from '../postgres/database.ts'
import { onceAMinute } from '../once-a-minute.ts'
import { rateLimit } from './rate-limit.ts'
import { apiKeyChecker } from './verifier.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Makes the hook of an operation that needs these scopes. It admits
     * requests with a valid API key, within the rate limit of the key, if the
     * key has all of the scopes. Others get, in this order: 503 if the key
     * cannot be looked up; 401 if it is not valid; 429 if it is over its limit;
     * 403 if it lacks a scope.
     */
    requireApiKey: (neededScopes: string[]) => onRequestHookHandler
  }
}

interface Options {
  names: Names
  database: Database
  config: Config
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
 * - It has no rate limit of API keys. The proxy limits who has none.
 *
 * Rejections are not delayed: the service would hold the connections of an
 * attacker open at its own expense.
 */
export const bearerAuthentication = fp<Options>(
  async (app, { names, database, config }) => {
    const check = apiKeyChecker(database, names.apiKeyPrefix)
    const countRequest = rateLimit(app, config.MAX_REQUESTS_PER_MINUTE)
    const logRejected = onceAMinute((reason: string, ip: string) =>
      app.log.info(
        { rejected: reason, ip },
        'a request with an invalid API key'
      )
    )

    app.decorateRequest('apiKeyCheck', undefined)
    await app.register(bearerAuth, {
      addHook: false,
      keys: [],
      specCompliance: 'rfc6749',
      verifyErrorLogLevel: 'silent',
      async auth(token, request) {
        request.apiKeyCheck = await check(token)
        return request.apiKeyCheck.state === 'valid'
      }
    })
    const verify = app.getDecorator<verifyBearerAuth>('verifyBearerAuth')

    app.decorate('requireApiKey', (neededScopes) => {
      // A scope has no quotes or backslashes.
      const scope = neededScopes.join(' ')
      const { keyRequired, keyInvalid, forbidden } = errorsOf(
        names.realm,
        scope
      )

      return (request, reply, done) =>
        verify(request, reply, (error?: Error & { statusCode?: number }) => {
          // The key could not be looked up.
          if (error !== undefined && error.statusCode !== 401)
            return done(error)

          const { state, id, scopes } = (request.apiKeyCheck ??= {
            state: 'absent'
          })
          if (state === 'valid') {
            // A key with null may do everything.
            const isAllowed =
              scopes === null ||
              neededScopes.every((needed) => scopes.includes(needed))
            const limitError = countRequest(id, reply)
            return done(limitError ?? (isAllowed ? undefined : forbidden))
          }

          app.metrics.authFailures.inc({ reason: state })
          if (state === 'absent') return done(keyRequired)

          logRejected(state, request.ip)
          done(keyInvalid)
        })
    })
  },
  { name: 'bearer-authentication' }
)

/** Makes the errors of RFC 6750, section 3.1, for an operation. */
function errorsOf(realm: string, scope: string) {
  const error = (
    status: number,
    code: string,
    message: string,
    parameters = ''
  ) =>
    new HttpError(status, code, message, {
      'www-authenticate': `Bearer realm="${realm}"${parameters}`
    })

  return {
    keyRequired: error(
      401,
      'unauthorized',
      'An API key is required: send the header "Authorization: Bearer <API_KEY>"'
    ),
    keyInvalid: error(
      401,
      'unauthorized',
      'The API key is not valid',
      ', error="invalid_token"'
    ),
    forbidden: error(
      403,
      'insufficient_scope',
      `The API key lacks the scope of this operation: ${scope}`,
      `, error="insufficient_scope", scope="${scope}"`
    )
  }
}
