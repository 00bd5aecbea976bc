import type { FastifyInstance, onRequestHookHandler, onSendHookHandler, RouteHandlerMethod } from 'fastify'
import glue from 'fastify-openapi-glue'
import type { Contract } from './document.ts'
import { jsonBody } from '../http/json-body.ts'
import { validatorCompiler } from './validation.ts'

interface OperationsOptions {
  contract: Contract
  /** The handlers by operationId. Their types are those of generated/operations.ts, which this folder must not import. */
  handlers: object
  /** By name of a security scheme, the hook that passes or rejects a request. */
  schemes: Record<string, onRequestHookHandler>
}

/**
 * Registers a route for each operation by fastify-openapi-glue, and adds what the glue lacks: authentication before the
 * body is read, validation of the body whatever its headers, and the headers of a deprecation.
 *
 * @throws (at start) when an operation has no handler, or a security scheme has no hook, which would leave it open
 */
export async function operations(app: FastifyInstance, { contract, handlers, schemes }: OperationsOptions) {
  await app.register(jsonBody)
  app.setValidatorCompiler(validatorCompiler)
  app.addHook('onRoute', ({ schema }) => {
    // Fastify would choose a schema by Content-Type and skip validation without one. jsonBody has checked the type.
    const body = schema?.body as { content: { 'application/json': { schema: object } } } | undefined
    if (schema !== undefined && body !== undefined) schema.body = body.content['application/json'].schema
  })
  await app.register(glue, {
    specification: JSON.parse(contract.json, lowerCaseHeader) as object,
    prefix: contract.basePath,
    operationResolver(operationId) {
      const operation = contract.operations.find(({ id }) => id === operationId)
      const handler = (handlers as Record<string, RouteHandlerMethod | undefined>)[operationId]
      if (operation === undefined || handler === undefined) {
        throw new Error(`The operation ${operationId} has no handler: run npm run generate`)
      }
      const { method, path, security, deprecation } = operation
      return {
        method,
        url: path.replace(/\{(\w+)\}/g, ':$1'),
        handler,
        onRequest: security.map((scheme) => {
          const hook = schemes[scheme]
          if (hook === undefined) throw new Error(`The security scheme ${scheme} of ${operationId} has no hook`)
          return hook
        }),
        onSend: Object.keys(deprecation).length === 0 ? [] : announce(deprecation),
        config: { operation: operationId }
      }
    }
  })
}

/** HTTP field names are case-insensitive, and Node gives those of a request in lower case. */
function lowerCaseHeader(_key: string, value: unknown): unknown {
  const parameter = value as { in?: string; name: string } | null
  return parameter?.in === 'header' ? { ...parameter, name: parameter.name.toLowerCase() } : value
}

/** Sets the headers of a deprecation on every response, including those of requests that another hook rejects. */
function announce(deprecation: Record<string, string>): onSendHookHandler {
  return (_request, reply, payload, done) => {
    reply.headers(deprecation)
    done(null, payload)
  }
}
