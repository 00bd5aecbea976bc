import { isDeepStrictEqual } from 'node:util'
import type { OpenAPIV3 } from 'openapi-types'
import { resolve } from '../../../src/openapi/document.ts'
import { addMonths, notice } from '../notice.ts'
import { type DescribedOperation, operationsOf } from './document.ts'
import { type Documents, type SchemaChange, schemaChanges } from './schemas.ts'

/** A change that oasdiff does not tell, or does not tell as our policy (docs/versioning.md) has it. */
export interface OwnChange {
  /** Method and path; undefined for a change of all. */
  operation: string | undefined
  isBreaking: boolean
  text: string
  /** What the change is of, when it is of a schema. */
  schema?: SchemaChange
}

/** What the operations of a document have lost or had changed, beyond what oasdiff tells. */
export function ownChanges(documents: Documents): OwnChange[] {
  const after = operationsOf(documents.after)
  const changes = [...operationsOf(documents.before)].flatMap(([operation, before]) => {
    const now = after.get(operation)
    // Also after its sunset: within a major version nothing is removed.
    if (now === undefined) return { operation, isBreaking: true, text: 'the operation was removed' }
    return [
      ...securityChanges(documents, before, now),
      ...serverChanges(before, now),
      ...parameterChanges(documents, before, now),
      ...bodyChanges(documents, before, now),
      ...noticeChanges(before, now)
    ].map((change) => ({ operation, ...change }))
  })
  return [...changes, ...schemeNames(documents)]
}

/** Generated clients have the names of the security schemes. */
function schemeNames({ before, after }: Documents): OwnChange[] {
  const now = after.components?.securitySchemes ?? {}
  const gone = Object.keys(before.components?.securitySchemes ?? {}).filter((name) => !(name in now))
  return gone.map((name) => ({
    operation: undefined,
    isBreaking: true,
    text: `the security scheme \`${name}\` was removed`
  }))
}

type Found = Omit<OwnChange, 'operation'>

/** A deprecation is announced in time: the released document did not have it, so its notice begins today. */
function noticeChanges(before: DescribedOperation, after: DescribedOperation): Found[] {
  const isAnnounced = after.sunset !== undefined && before.sunset === undefined
  if (!isAnnounced || new Date(String(after.sunset)) >= addMonths(new Date(), notice)) return []
  return [
    { isBreaking: true, text: `the operation is deprecated, and its x-sunset is less than ${notice} months from now` }
  ]
}

function securityChanges(documents: Documents, before: DescribedOperation, after: DescribedOperation): Found[] {
  const ways = waysIn(documents.before, before)
  const nowWays = waysIn(documents.after, after)
  if (isDeepStrictEqual(ways, nowWays)) return []
  // Who came in by some schemes still does when no more than those are asked for.
  const isOpen = (way: string[]) => nowWays.some((now) => now.every((scheme) => way.includes(scheme)))
  return [{ isBreaking: !ways.every(isOpen), text: 'other security schemes let a request in' }]
}

/** The alternatives of an operation, each the schemes that it asks for, by what they are and not by their names. */
function waysIn(document: OpenAPIV3.Document, { security }: DescribedOperation): string[][] {
  const schemes = document.components?.securitySchemes ?? {}
  const scheme = (name: string) => {
    const found = schemes[name]
    if (found === undefined) return name
    const { type, ...rest } = resolve(document, found) as unknown as Record<string, unknown>
    const sent = ['scheme', 'in', 'name', 'flows', 'openIdConnectUrl'].map((key) => rest[key])
    return JSON.stringify([type, ...sent])
  }
  return security.length === 0 ? [[]] : security.map((requirement) => Object.keys(requirement).map(scheme))
}

function serverChanges(before: DescribedOperation, after: DescribedOperation): Found[] {
  const urls = (operation: DescribedOperation) => operation.servers.map(serverUrl)
  const now = urls(after)
  const gone = urls(before).filter((url) => !now.includes(url))
  return gone.map((url) => ({ isBreaking: true, text: `the server \`${url}\` was removed` }))
}

/** The URL of a server with the defaults of its variables. */
function serverUrl({ url, variables = {} }: OpenAPIV3.ServerObject): string {
  return url.replace(/\{([^}]+)\}/g, (_, name: string) => variables[name]?.default ?? '')
}

function parameterChanges(documents: Documents, before: DescribedOperation, after: DescribedOperation): Found[] {
  return [...before.parameters].flatMap(([name, parameter]) => {
    const now = after.parameters.get(name)
    if (now === undefined) return [] // oasdiff tells it
    const title = `the ${parameter.in} request parameter \`${parameter.name}\``
    const changes: Found[] = ofSchemas(
      schemaChanges(documents, { before: parameter.schema, after: now.schema }, 'request'),
      title,
      parameter.name
    )
    const [type, nowType] = [typeOf(documents.before, parameter), typeOf(documents.after, now)]
    // Any text is a string to oasdiff, but a generated client has an argument of the type.
    if (type !== nowType && !(type === 'integer' && nowType === 'number')) {
      changes.push({ isBreaking: true, text: `the type of ${title} changed from \`${type}\` to \`${nowType}\`` })
    }
    if (!isDeepStrictEqual(serialization(parameter), serialization(now))) {
      changes.push({ isBreaking: true, text: `${title} is written in another way` })
    }
    return changes
  })
}

function typeOf(document: OpenAPIV3.Document, { schema }: OpenAPIV3.ParameterObject): string {
  return (schema && resolve<OpenAPIV3.SchemaObject>(document, schema).type) ?? 'any'
}

/** How a parameter is written in a request, with the defaults of OpenAPI. */
function serialization(parameter: OpenAPIV3.ParameterObject): object {
  const style = parameter.style ?? (['query', 'cookie'].includes(parameter.in) ? 'form' : 'simple')
  return {
    style,
    explode: parameter.explode ?? style === 'form',
    allowReserved: parameter.allowReserved ?? false,
    content: Object.keys(parameter.content ?? {})
  }
}

function bodyChanges(documents: Documents, before: DescribedOperation, after: DescribedOperation): Found[] {
  const ofContent = (
    part: 'request' | 'response',
    title: string,
    content: Record<string, OpenAPIV3.MediaTypeObject> = {},
    now: Record<string, OpenAPIV3.MediaTypeObject> = {}
  ) =>
    Object.entries(content).flatMap(([type, { schema }]) =>
      ofSchemas(schemaChanges(documents, { before: schema, after: now[type]?.schema }, part), title)
    )
  const types = (operation: DescribedOperation) => Object.keys(operation.requestBody?.content ?? {})
  // Of a body that is gone as a whole oasdiff tells.
  const gone = after.requestBody ? types(before).filter((type) => !types(after).includes(type)) : []
  return [
    ...gone.map((type) => ({ isBreaking: true, text: `the request media type \`${type}\` was removed` })),
    ...ofContent('request', 'the request body', before.requestBody?.content, after.requestBody?.content),
    ...[...before.responses].flatMap(([status, { content }]) =>
      ofContent('response', `the body of the response ${status}`, content, after.responses.get(status)?.content)
    )
  ]
}

function ofSchemas(changes: SchemaChange[], title: string, name = ''): Found[] {
  return changes.map((schema) => ({
    isBreaking: schema.isBreaking,
    text: `${schema.place === '' ? title : `\`${schema.place}\` of ${title}`} ${schema.text}`,
    schema: { ...schema, place: schema.place || name }
  }))
}
