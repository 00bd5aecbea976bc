import { HttpError } from '../http/errors.ts'
import { violatedConstraint } from '../postgres/failures.ts'
import type { Sent } from './handler.ts'

/** The response to a request that violates a constraint. */
interface Violation<Status> {
  /** One that the operation documents. */
  status: Status & number
  code: string
  /** Tells the client how to change the request. */
  message: string
}

/** Responses by the names of constraints and unique indexes. */
type Violations<Status> = Record<string, Violation<Status>>

/** A reply of an operation that documents a status, whatever its body. */
interface Documents<Status> {
  code: (status: Status) => unknown
}

/**
 * Lets a handler respond to violated constraints: foreign keys, unique, check
 * and exclusion constraints. Only the row that violates one gets the response,
 * not the others of its group. A violation of another constraint stays a 500.
 *
 * The compiler rejects a status that the operation does not document.
 *
 * @example
 * deleteCategory: onViolation(
 *   {
 *     pets_category_id_fkey: {
 *       status: 409,
 *       code: 'category_in_use',
 *       message: 'The category has pets'
 *     }
 *   },
 *   async ({ params }, reply) => …
 * )
 */
export function onViolation<Request, Reply, const Status>(
  violations: Violations<Status>,
  handler: (request: Request, reply: Reply) => Promise<Sent> | Sent
) {
  return async (
    request: Request,
    reply: Reply & Documents<Status>
  ): Promise<Sent> => {
    try {
      return await handler(request, reply)
    } catch (error) {
      throw errorForViolation(error, violations) ?? error
    }
  }
}

function errorForViolation(
  error: unknown,
  violations: Violations<unknown>
): HttpError | undefined {
  const violation = violations[violatedConstraint(error)]
  if (violation === undefined) return undefined
  const { status, code, message } = violation
  return new HttpError(status, code, message)
}
