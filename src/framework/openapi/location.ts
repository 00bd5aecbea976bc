import type { onSendHookHandler } from 'fastify'
import { parse } from 'lossless-json'
import type { OpenAPIV3 } from 'openapi-types'
import { parseNumber } from '../http/json-body.ts'

type Paths = OpenAPIV3.PathsObject<object>
type Link = OpenAPIV3.LinkObject | OpenAPIV3.ReferenceObject

/** A path relative to another one: a proxy may change the base path. */
export function relativeTarget(from: string, to: string): string {
  const toRoot = '../'.repeat(from.split('/').length - 2)
  return toRoot + to.slice(1)
}

/**
 * Returns the path of the resource that an operation creates, if the OpenAPI
 * document has a `Location` in its response 201. A link of the response says
 * which operation reads it, and by which properties of the body: `/pets/{id}`.
 *
 * @throws Error if the OpenAPI document has the header without such a link
 */
export function locationOf(
  { operationId, responses }: OpenAPIV3.OperationObject,
  paths: Paths
): string | undefined {
  const created = responses['201']
  if (created === undefined || '$ref' in created) return undefined
  if (created.headers?.['Location'] === undefined) return undefined

  const links = Object.values(created.links ?? {})
  const [location] = links.flatMap((link) => targetOf(link, paths))
  if (location === undefined) {
    throw new Error(
      `The 201 of ${operationId} has a Location, but no link to a GET ` +
        'operation whose parameters are properties of the body'
    )
  }

  return location
}

/** The path of the GET operation that a link leads to, in an array. */
function targetOf(link: Link, paths: Paths): string[] {
  if ('$ref' in link) return []

  const { operationId, parameters = {} } = link
  const [path] =
    Object.entries(paths).find(
      ([, item]) => item?.get?.operationId === operationId
    ) ?? []
  if (path === undefined) return []

  const target = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    propertyOf(parameters[name])
  )

  return target.includes('{}') ? [] : [target]
}

/** `$response.body#/id` as `{id}`, any other expression as `{}`. */
function propertyOf(expression: unknown): string {
  const [, name = ''] =
    /^\$response\.body#\/(\w+)$/.exec(String(expression)) ?? []
  return `{${name}}`
}

/**
 * A hook that adds the `Location` to a response 201 (RFC 9110, section 15.3.2).
 *
 * It parses the body, although a handler has just sent it: the body is JSON
 * that PostgreSQL wrote, and no object in the service has its properties.
 *
 * @param template a path as locationOf returns it, relative to the request
 */
export const sendLocation =
  (template: string): onSendHookHandler =>
  (_request, reply, payload, done) => {
    if (reply.statusCode === 201)
      reply.header('location', expand(template, payload))
    done(null, payload)
  }

/**
 * Expands a URI template (RFC 6570) by the properties of a body.
 *
 * @param payload a JSON object, as text or bytes
 */
function expand(template: string, payload: unknown): string {
  const body = parse(String(payload), undefined, { parseNumber })
  const properties = Object.entries(Object.assign({}, body))
  const values = new Map<string, unknown>(properties)

  return template.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(values.get(name)))
  )
}
