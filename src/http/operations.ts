import type { onRequestAsyncHookHandler, onRequestHookHandler, RouteOptions } from 'fastify'
import fp from 'fastify-plugin'
import glue from 'fastify-openapi-glue'
import type { Operations } from '../../generated/operations.ts'
import type { Contract, Operation } from '../contract.ts'
import { jsonBody } from './body.ts'
import { announce } from './deprecation.ts'
import { validatorCompiler } from './validation.ts'

export interface OperationsOptions {
  contract: Contract
  handlers: Operations
  /** For each security scheme of the document, the hook that lets a request pass or fails it. */
  schemes: Record<string, onRequestHookHandler | onRequestAsyncHookHandler>
}

/**
 * Makes a route of each operation of the document: fastify-openapi-glue maps it onto its handler, and what the glue
 * leaves out is added here: authentication before the body is read, a body that is validated whatever its headers, and the
 * headers of a deprecation.
 *
 * @throws (at start) when an operation has no handler, a handler no operation, or a security scheme none of ours
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
      // Beside what Fastify has there on a HEAD route, which drops the body.
      if (operation.deprecation) route.onSend = [announce(operation.deprecation), route.onSend ?? []].flat()
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

/** The hooks that let a request to the operation pass: those of its one security requirement, or none when it has none. */
function authentication(
  { id, security }: Operation,
  schemes: OperationsOptions['schemes']
): (onRequestHookHandler | onRequestAsyncHookHandler)[] {
  const isOpen = security.length === 0 || security.some((requirement) => Object.keys(requirement).length === 0)
  if (isOpen) return []
  const [requirement, ...alternatives] = security
  if (alternatives.length > 0)
    throw new Error(`The operation ${id} has alternative security requirements, which are not supported`)
  return Object.keys(requirement as object).map((scheme) => {
    const hook = schemes[scheme]
    if (hook === undefined)
      throw new Error(`The operation ${id} has the security scheme ${scheme}, which has no handler`)
    return hook
  })
}

/**
 * Validates the body by its one schema, not by its Content-Type, which jsonBody checks. Fastify gives a validator null for
 * a body that is not there: a required one fails its schema by that, an optional one passes.
 */
function requireBody(route: RouteOptions, { requestBodyRequired }: Operation): void {
  const body = route.schema?.body as { content: Record<string, { schema: object }> } | undefined
  const schema = body?.content['application/json']?.schema
  if (route.schema === undefined || schema === undefined) return
  route.schema = { ...route.schema, body: requestBodyRequired ? schema : { anyOf: [schema, { enum: [null] }] } }
}
