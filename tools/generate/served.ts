// Finds what the linter cannot: schemas that Fastify cannot compile.
import Fastify from 'fastify'
import type { ApiDocument } from '../../src/framework/openapi/document.ts'
import { notImplemented } from '../../src/framework/openapi/not-implemented.ts'
import { operationRoutes } from '../../src/framework/openapi/routes.ts'

/**
 * Registers the operations, as the service does at its start.
 *
 * @throws Error that names the operation that cannot be served
 */
export async function requireServed(apiDocument: ApiDocument): Promise<void> {
  const handlers = apiDocument.operations.map(({ id }) => [id, notImplemented])
  const app = Fastify()
  await app.register(operationRoutes, {
    apiDocument,
    handlers: Object.fromEntries(handlers) as object,
    securityHooks: { bearerAuth: () => (_request, _reply, done) => done() }
  })
  await app.ready()
}
