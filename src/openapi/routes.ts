import type {
  FastifyPluginAsync,
  FastifyReply,
  onRequestHookHandler,
  RouteOptions
} from 'fastify'
import glue, { type FastifyOpenapiGlueOptions } from 'fastify-openapi-glue'
import type { OperationHandlers } from '../../generated/operations.ts'
import { type ApiDocument, type ApiOperation, basePath } from './document.ts'
import { acceptJson, rejectBody, requireBody } from './json-body.ts'
import { validatorCompiler } from './validation.ts'

type OperationResolver =
  Required<FastifyOpenapiGlueOptions>['operationResolver']

interface Options {
  apiDocument: ApiDocument
  handlers: OperationHandlers
  /**
   * Makes the hook of an operation that needs these scopes. It admits or
   * rejects a request before its body is read.
   */
  makeAuthorizationHook: (scopes: string[]) => onRequestHookHandler
}

/**
 * Registers a route for each operation with fastify-openapi-glue. Its option
 * `operationResolver` adds to each route what glue lacks:
 *
 * - Authentication before the body is read. The `securityHandlers` of glue run
 *   when the body has been parsed and validated.
 * - Rejection of a missing body: glue ignores that it is required.
 * - Rejection of a body where the operation has none.
 * - The status of the success, and the headers of a deprecation.
 *
 * It is encapsulated: other routes parse and validate as Fastify does by default.
 */
export const operationRoutes: FastifyPluginAsync<Options> = async (
  app,
  { apiDocument, handlers, makeAuthorizationHook }
) => {
  acceptJson(app)
  app.setValidatorCompiler(validatorCompiler)
  app.addHook('onRoute', addEmptySchemas)

  const routeOf = (operation: ApiOperation) => ({
    handler: handlers[operation.id as keyof OperationHandlers],
    onRequest: [
      makeAuthorizationHook(operation.scopes),
      ...(operation.hasBody ? [] : [rejectBody])
    ],
    preValidation: operation.hasBody ? [requireBody] : [],
    preHandler: makePrepareResponse(operation)
  })
  const routes = new Map<string, object>(
    apiDocument.operations.map((one) => [one.id, routeOf(one)])
  )

  await app.register(glue, {
    // A copy, in which glue replaces each $ref by its target.
    specification: structuredClone(apiDocument.document),
    prefix: basePath,
    // Its type also demands what glue adds: the method and the URL.
    operationResolver: ((id) => routes.get(id)) as OperationResolver
  })
}

/** Sets what the responses of an operation have in common. */
const makePrepareResponse =
  ({ successStatus, deprecationHeaders }: ApiOperation) =>
  (_request: unknown, reply: FastifyReply, done: () => void) => {
    reply
      .code(successStatus)
      .headers(deprecationHeaders)
      .type('application/json; charset=utf-8')
    done()
  }

/** Fastify validates queries and headers only if they have a schema. */
function addEmptySchemas(route: RouteOptions): void {
  const none = { type: 'object' }
  route.schema = { querystring: none, headers: none, ...route.schema }
}
