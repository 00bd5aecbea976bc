import bearerAuth, { type verifyBearerAuth } from '@fastify/bearer-auth'
import type { FastifyError, onRequestHookHandler } from 'fastify'
import fp from 'fastify-plugin'
import type { KeyVerifier } from '../keys/verifier.ts'
import { HttpError } from './errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The id of the API key that the request was authenticated by. */
    keyId: bigint | undefined
  }
  interface FastifyInstance {
    /** Lets a request with a valid API key pass; 401 (RFC 6750) without one, 503 when that cannot be known. */
    requireApiKey: onRequestHookHandler
  }
}

/** Bearer API keys, by @fastify/bearer-auth; decorates the app with `requireApiKey`. */
export const authentication = fp<{ verifyKey: KeyVerifier }>(async (app, { verifyKey }) => {
  await app.register(bearerAuth, {
    keys: new Set<string>(),
    addHook: false,
    specCompliance: 'rfc6749',
    auth: async (key, request) => {
      request.keyId = await verifyKey(key)
      return request.keyId !== undefined
    }
  })
  const verifyBearerAuth = app.getDecorator<verifyBearerAuth>('verifyBearerAuth')

  app.decorateRequest('keyId', undefined)
  app.decorate('requireApiKey', function (request, reply, done) {
    verifyBearerAuth(request, reply, (error) => done(error && toRefusal(error, request.headers.authorization)))
  })
})

const challenge = 'Bearer realm="pet-categories"'

/** The 401 of RFC 6750, section 3.1: `error` only when a token was sent. Another error, of the key store, stays as it is. */
function toRefusal(error: Error, authorization: string | undefined): Error {
  if (!(error as FastifyError).code?.startsWith('FST_BEARER_AUTH_')) return error
  if (authorization !== undefined && /^bearer +\S/i.test(authorization)) {
    return new HttpError(401, 'unauthorized', 'The API key is not valid', {
      'www-authenticate': `${challenge}, error="invalid_token", error_description="The API key is not valid"`
    })
  }
  const message = 'An API key is required: send the header "Authorization: Bearer <API_KEY>"'
  return new HttpError(401, 'unauthorized', message, { 'www-authenticate': challenge })
}
