import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import glue from 'fastify-openapi-glue'
import { jsonBody } from '../http/json-body.ts'
import type { Contract, Operation } from './document.ts'
import { validatorCompiler } from './validation.ts'

/** The schema that fastify-openapi-glue creates for an operation. */
interface RouteSchema {
  operationId: string
  body?: { content: { 'application/json': { schema: object } } }
}

interface OperationsOptions {
  contract: Contract
  /** The handlers by operationId. Their types are those of generated/operations.ts, which this folder must not import. */
  handlers: object
  /** The hook of each security scheme, which accepts or rejects a request. */
  schemes: Record<string, onRequestHookHandler>
}

/**
 * Registers a route for each operation with fastify-openapi-glue, and adds what the glue lacks: authentication before the
 * body is read, validation of the body whatever its headers, and the headers of a deprecation.
 *
 * @throws (at start) when an operation has no handler, or a security scheme has no hook, which would leave it open
 */
export async function operations(
  app: FastifyInstance,
  { contract, handlers, schemes }: OperationsOptions
) {
  await app.register(jsonBody)
  app.setValidatorCompiler(validatorCompiler)
  app.addHook('onRoute', (route) => {
    const schema = route.schema as RouteSchema
    const { id, security, deprecation } = contract.operations.find(
      ({ id }) => id === schema.operationId
    ) as Operation
    if (!(id in handlers))
      throw new Error(
        `The operation ${id} has no handler: run npm run generate`
      )
    const authenticate = security.map((scheme) => {
      const hook = schemes[scheme]
      if (hook === undefined)
        throw new Error(`The security scheme ${scheme} of ${id} has no hook`)
      return hook
    })
    const announce: onRequestHookHandler = (_request, reply, done) => {
      reply.headers(deprecation)
      done()
    }
    route.onRequest = [announce, ...authenticate]
    // Fastify would choose a schema by Content-Type and skip validation without one. jsonBody has checked the type.
    if (schema.body !== undefined)
      route.schema = {
        ...schema,
        body: schema.body.content['application/json'].schema
      }
  })
  const specification = JSON.parse(contract.json, lowerCaseHeader) as object
  await app.register(glue, {
    specification,
    prefix: contract.basePath,
    serviceHandlers: handlers
  })
}

/** HTTP field names are case-insensitive, and Node gives those of a request in lower case. */
function lowerCaseHeader(_key: string, value: unknown): unknown {
  const parameter = value as { in?: string; name: string } | null
  return parameter?.in === 'header'
    ? { ...parameter, name: parameter.name.toLowerCase() }
    : value
}
