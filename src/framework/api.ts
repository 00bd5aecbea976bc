import type { ResponseBuffers } from './reads/response-buffers.ts'
import type { Database } from './postgres/database.ts'

/** What the API is called. */
export interface Names {
  /** The name of the service, on the command line and in PostgreSQL. */
  service: string
  /** What every API key begins with. */
  apiKeyPrefix: string
  /** The realm of the challenge in a 401 or 403 (RFC 6750, section 3). */
  realm: string
}

/**
 * An API: all that the framework needs to serve it. src/handlers/index.ts
 * defines the API of this repository, and test/support/notes the one that the
 * tests of the framework use.
 */
export interface Api {
  names: Names
  /** The OpenAPI document, a YAML file. */
  openapiFile: URL
  /**
   * The code samples of the docs page, a JSON file: `generated/samples.json`.
   * Without one, the page has none.
   */
  samplesFile?: URL
  /**
   * The folder of docs/clients.md and CHANGELOG.md, the guide beside the docs
   * page. Without one, there is none.
   */
  guideRoot?: URL
  /**
   * Makes the handler of each operation, by operationId.
   * `generated/operations.ts` has its type, which the framework does not know.
   * All lists and pages share the buffers.
   */
  handlers: (database: Database, buffers: ResponseBuffers) => object
  /**
   * The folder of the migrations, those of the framework first, and of
   * `grants.sql`: what DATABASE_SERVICE_ROLE may do.
   */
  migrationsFolder: URL
}
