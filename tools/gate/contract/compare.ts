import { readDocument } from './document.ts'
import { oasdiff, type OasdiffChange } from './oasdiff.ts'
import { type OwnChange, ownChanges } from './rules.ts'

/** A change of the interface, for whoever calls it. */
export interface Change {
  /** The operation by its operationId in the older document, or by method and path when it is new; undefined for none. */
  operation: string | undefined
  isBreaking: boolean
  text: string
}

/**
 * What oasdiff takes for information and docs/versioning.md for a breaking change. A pattern is matched by the whole id.
 */
const alsoBreaking: RegExp[] = [
  // A client reads it, and finds nothing.
  /response-non-success-status-removed|response-optional-(write-only-)?property-removed|optional-response-header-removed/,
  // A client sends or reads a property that is now for the other direction.
  /request-.*-became-read-only|response-.*-became-write-only/,
  // What a request means that leaves the value out.
  /request-.*-default-value-(added|changed|removed)/,
  // Names in generated clients: methods, classes, types, arguments.
  /api-operation-id-removed|api-tag-removed|api-schema-removed|request-parameter-removed-with-deprecation/,
  // Types in generated clients: fewer values, as of int32 in the place of int64, are another type.
  /response-.*-type-specialized/,
  /.*-discriminator-.*/,
  // What a client parses: the same bytes under another name, or a header of another type.
  /response-header-type-compatible|response-media-type-name-.*/
]

/** Told by our own rules, by the version check, or of no use to a client. */
const told =
  /^(api-(path-)?(removed|sunset-parse).*|api-(global-)?security-(?!scope).*|api-security-component-.*|api-(major-)?version-.*|api-tag-added|api-operation-id-added)$/

/** All changes between two documents in files, breaking ones first. */
export function compare(beforeFile: string, afterFile: string): Change[] {
  const documents = { before: readDocument(beforeFile), after: readDocument(afterFile) }
  const own = ownChanges(documents)
  const theirs = oasdiff(beforeFile, afterFile).filter((change) => !told.test(change.id) && !isEnumGone(change, own))
  const name = (operation: string) => {
    const [method = '', path = ''] = operation.split(' ')
    const item = documents.before.paths[path] as Record<string, { operationId?: string }> | undefined
    return item?.[method.toLowerCase()]?.operationId ?? operation
  }
  const changes = [
    ...theirs.map(({ id, level, text, operation, path }) => ({
      operation: operation === undefined ? undefined : name(`${operation} ${path}`),
      isBreaking: level > 1 || alsoBreaking.some((ids) => ids.exec(id)?.[0] === id),
      text
    })),
    ...own.map(({ operation, isBreaking, text }) => ({
      operation: operation === undefined ? undefined : name(operation),
      isBreaking,
      text
    }))
  ]
  const unique = new Map(changes.map((change) => [`${change.operation} ${change.text}`, change]))
  return [...unique.values()].sort((a, b) => Number(b.isBreaking) - Number(a.isBreaking))
}

/** Whether oasdiff tells value by value of an enum that is gone as a whole, which our own rules tell at once. */
function isEnumGone({ id, operation, path, text }: OasdiffChange, own: OwnChange[]): boolean {
  if (!id.endsWith('enum-value-removed')) return false
  return own.some(
    ({ operation: of, schema }) =>
      schema?.rule === 'enum' && of === `${operation} ${path}` && text.includes(`\`${schema.place}\``)
  )
}
