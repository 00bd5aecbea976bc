import type { onRequestAsyncHookHandler, onRequestHookHandler, onSendHookHandler, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import glue from 'fastify-openapi-glue'
import type { Operations } from '../../generated/operations.ts'
import type { Contract, Operation } from './contract.ts'
import { documentError, operationName } from './document.ts'
import { jsonBody } from '../http/json-body.ts'
import { validatorCompiler } from './validation.ts'

export interface OperationsOptions {
  contract: Contract
  handlers: Operations
  /** For each security scheme of the document, the hook that accepts or rejects a request. */
  schemes: Record<string, onRequestHookHandler | onRequestAsyncHookHandler>
}

/**
 * Registers a route for each operation of the document. fastify-openapi-glue connects it to its handler; this plugin adds
 * what the glue lacks: authentication before the body is read, validation of the body whatever its headers, and the headers
 * of a deprecation.
 *
 * @throws (at start) when an operation has no handler, a handler has no operation, or a security scheme has no hook
 */
export const operations = fp<OperationsOptions>(async (app, { contract, handlers, schemes }) => {
  const byId = new Map(contract.operations.map((operation) => [operation.id, operation]))
  for (const { id } of contract.operations) {
    if (!Object.hasOwn(handlers, id)) throw new Error(`The operation ${id} has no handler: run npm run generate`)
  }
  for (const id of Object.keys(handlers)) {
    if (!byId.has(id)) throw new Error(`The handler ${id} has no operation: run npm run generate`)
  }
  await app.register(async (scope) => {
    await scope.register(jsonBody)
    scope.setValidatorCompiler(validatorCompiler())
    scope.addHook('onRoute', (route) => {
      const operation = byId.get((route.schema as { operationId: string }).operationId) as Operation
      route.onRequest = authentication(operation, schemes)
      // On a HEAD route Fastify has an onSend hook already, which drops the body.
      if (Object.keys(operation.deprecation).length > 0) route.onSend = [announce(operation), route.onSend ?? []].flat()
      route.config = { ...route.config, operation: operation.id }
      requireBody(route, operation)
    })
    await scope.register(glue, {
      specification: contract.document,
      serviceHandlers: handlers,
      prefix: contract.basePath
    })
  })
})

/** The hook that sets the headers of a deprecation on every response of a route, also of a request that another hook rejects. */
function announce({ deprecation }: Operation): onSendHookHandler {
  return (_request, reply, payload, done) => {
    reply.headers(deprecation)
    done(null, payload)
  }
}

/** The hooks that authenticate a request to the operation. */
function authentication(
  { method, path, security }: Operation,
  schemes: OperationsOptions['schemes']
): (onRequestHookHandler | onRequestAsyncHookHandler)[] {
  return security.map((scheme) => {
    const hook = schemes[scheme]
    if (hook !== undefined) return hook
    throw documentError(`${operationName(method, path)}: the security scheme ${scheme} has no handler`)
  })
}

/**
 * Validates the body by its one schema, not by its Content-Type, which jsonBody checks. Fastify passes null to the validator
 * when there is no body: the schema of a required body rejects null, that of an optional one accepts it.
 */
function requireBody(route: RouteOptions, { requestBodyRequired }: Operation): void {
  const body = route.schema?.body as { content: Record<string, { schema: object }> } | undefined
  const schema = body?.content['application/json']?.schema
  if (route.schema === undefined || schema === undefined) return
  route.schema = { ...route.schema, body: requestBodyRequired ? schema : { anyOf: [schema, { enum: [null] }] } }
}
