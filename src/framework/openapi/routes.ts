import type {
  onRequestHookHandler,
  preHandlerHookHandler,
  preValidationHookHandler,
  RouteHandlerMethod,
  RouteOptions
} from 'fastify'
import fp from 'fastify-plugin'
import glue, { type FastifyOpenapiGlueOptions } from 'fastify-openapi-glue'
import { badRequest } from '../errors.ts'
import { acceptJson, rejectBody, requireBody } from './json-body.ts'
import type { ApiDocument, ApiOperation } from './document.ts'
import { validatorCompiler } from './validation.ts'

type OperationResolver =
  Required<FastifyOpenapiGlueOptions>['operationResolver']

interface Options {
  apiDocument: ApiDocument
  /**
   * The handlers by operationId. Their types are in generated/operations.ts,
   * which this folder must not import.
   */
  handlers: object
  /**
   * Makes, for each security scheme, the hook of an operation that needs these
   * scopes. It admits or rejects a request before its body is read.
   */
  securityHooks: Record<string, (scopes: string[]) => onRequestHookHandler>
}

/**
 * Registers a route for each operation with fastify-openapi-glue. Its option
 * `operationResolver` adds to each route what glue lacks:
 *
 * - Authentication before the body is read. The `securityHandlers` of glue run
 *   when the body has been parsed and validated.
 * - Rejection of a missing body: glue ignores that it is required.
 * - Rejection of a body where the operation has none.
 * - The headers of a deprecation.
 * - A start that fails if an operation has no handler, no hook for its security
 *   scheme, because it would be open, or no scopes, because every API key could
 *   use it.
 *
 * Also, glue ignores `servers`, so their path is its option `prefix`. Headers
 * are matched in lower case by validation.ts.
 *
 * @throws (at start) when an operation has no handler, or needs an API key but
 *   no scope, or a security scheme has no hook
 */
export const operationRoutes = fp<Options>(
  async (app, { apiDocument, handlers, securityHooks }) => {
    acceptJson(app)
    app.setValidatorCompiler(validatorCompiler)
    app.addHook('onRoute', addEmptySchemas)
    app.addHook('preValidation', rejectNul)

    const handlersById = new Map<string, RouteHandlerMethod>(
      Object.entries(handlers)
    )
    const routes = new Map<string, object>()
    for (const operation of apiDocument.operations) {
      const handler = handlersById.get(operation.id)
      if (handler === undefined)
        throw new Error(`The operation ${operation.id} has no handler`)
      routes.set(operation.id, {
        handler,
        onRequest: [
          ...hooksOf(operation, securityHooks),
          ...(operation.hasBody ? [] : [rejectBody])
        ],
        preValidation: operation.hasBody ? [requireBody] : [],
        preHandler: announceDeprecation(operation)
      })
    }

    await app.register(glue, {
      // A copy, in which glue replaces each $ref by its target.
      specification: structuredClone(apiDocument.document),
      prefix: apiDocument.basePath,
      // Its type also demands what glue adds: the method and the URL.
      operationResolver: ((id) => routes.get(id)) as OperationResolver
    })
  },
  // Other routes parse and validate as Fastify does by default.
  { name: 'operation-routes', encapsulate: true }
)

/** Fastify validates queries and headers only if they have a schema. */
function addEmptySchemas(route: RouteOptions): void {
  const none = { type: 'object' }
  route.schema = { querystring: none, headers: none, ...route.schema }
}

/** PostgreSQL cannot store U+0000. */
const rejectNul: preValidationHookHandler = ({ url }, _reply, done) =>
  done(
    url.includes('%00') ? badRequest('The URL must not have U+0000') : undefined
  )

function hooksOf(
  { id, security, scopes }: ApiOperation,
  securityHooks: Options['securityHooks']
): onRequestHookHandler[] {
  return security.map((scheme) => {
    const hook = securityHooks[scheme]
    if (hook === undefined)
      throw new Error(`The security scheme ${scheme} of ${id} has no hook`)
    if (scopes.length === 0) {
      throw new Error(
        `The operation ${id} needs an API key, but has no x-scopes`
      )
    }

    return hook(scopes)
  })
}

/** Runs before the handler, whose own Link to the next page matters more. */
const announceDeprecation =
  ({ deprecation }: ApiOperation): preHandlerHookHandler =>
  (_request, reply, done) => {
    reply.headers(deprecation)
    done()
  }
