// The OpenAPI document of the trains: the original, changed where the service
// cannot serve it. README.md lists the changes.
import { readFileSync } from 'node:fs'
import path from 'node:path'

interface Schema {
  type?: string
  required?: string[]
  properties?: Record<string, Schema>
  oneOf?: Schema[]
}

interface Response {
  description: string
  headers?: object
  content?: object
}

interface Operation {
  operationId: string
  tags: [string]
  parameters?: object[]
  requestBody?: { content: { 'application/json': { examples?: object } } }
  responses: Record<string, Response>
}

type PathItem = Record<string, Operation> & { parameters?: object[] }

interface Document {
  openapi: string
  info: object
  tags: object[]
  paths: Record<string, PathItem>
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
  }
}

/** By the kind of a response. */
type Headers = Record<string, object>

/** This repository's document. */
export interface Ours extends Document {
  'x-headers': Headers
}

const original = path.join(
  import.meta.dirname,
  'node_modules/@readme/oas-examples/3.1/json/train-travel.json'
)

const refer = (kind: string, name: string) => ({
  $ref: `#/components/${kind}/${name}`
})

const json = (schema: object, rest?: object) => ({
  'application/json': { schema, ...rest }
})

/** The validator checks neither these keywords nor this format. */
const unsupported = [
  'exclusiveMinimum',
  'iso-country-code',
  'readOnly',
  'unevaluatedProperties',
  'writeOnly'
]

/** A schema without the properties that are for the other direction. */
const without = (flag: 'readOnly' | 'writeOnly', schema: Schema | undefined) =>
  JSON.parse(
    JSON.stringify(schema, (key, value: object | string) =>
      unsupported.includes(key) ||
      (typeof value === 'string' && unsupported.includes(value)) ||
      (typeof value === 'object' && flag in value)
        ? undefined
        : value
    ).replace('"anyOf"', '"oneOf"')
  ) as Schema

function schemasOf({ components: { schemas } }: Document) {
  const { Station, Trip, Booking, BookingPayment } = schemas
  const payment = without('writeOnly', BookingPayment)
  const paymentInput = without('readOnly', BookingPayment)

  for (const { properties } of [payment, paymentInput]) {
    for (const source of properties?.['source']?.oneOf ?? []) {
      const known = source.properties ?? {}
      source.type = 'object'
      source.required = source.required?.filter((name) => name in known) ?? []
    }
  }
  const required = ['id']
  return {
    Station: without('writeOnly', Station),
    Trip: { ...without('writeOnly', Trip), required },
    Booking: { ...without('writeOnly', Booking), required },
    BookingInput: {
      ...without('readOnly', Booking),
      required: ['trip_id', 'passenger_name']
    },
    BookingPayment: { ...payment, required },
    BookingPaymentInput: {
      ...paymentInput,
      required: ['amount', 'currency', 'source']
    }
  }
}

/** Errors of this repository, without examples from its operations. */
function responsesOf({ BadRequest, Forbidden }: Record<string, Response>) {
  const content = json(refer('schemas', 'Error'))
  const description = 'No row has this id'
  return {
    BadRequest: { ...BadRequest, content },
    Forbidden: { ...Forbidden, content },
    NotFound: { ...BadRequest, content, description }
  }
}

const pageParameters = {
  cursor: {
    name: 'cursor',
    in: 'query',
    description: 'Where the page starts, from the Link of the page before',
    schema: { type: 'string', maxLength: 64 }
  },
  limit: {
    name: 'limit',
    in: 'query',
    description: 'Maximum number of items in the response',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 10 }
  }
}

/** The original has examples of payments only. */
const bookingExamples = {
  dog: {
    value: {
      trip_id: 'ea399ba1-6d95-433f-92d1-83f67b775594',
      passenger_name: 'John Doe',
      has_dog: true
    }
  }
}

const usualErrors = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  429: 'TooManyRequests',
  500: 'InternalError'
}

/** What the framework adds to an operation, by its kind. */
const kinds = {
  list: {
    parameters: [refer('parameters', 'cursor'), refer('parameters', 'limit')],
    errors: { 503: 'Unavailable' }
  },
  get: {
    parameters: [],
    errors: { 404: 'NotFound', 503: 'Unavailable' }
  },
  delete: {
    parameters: [],
    errors: { 404: 'NotFound', 503: 'UnavailableOrOutcomeUnknown' }
  },
  post: {
    parameters: [refer('parameters', 'IdempotencyKey')],
    errors: {
      404: 'NotFound',
      409: 'IdempotencyKeyInUse',
      413: 'PayloadTooLarge',
      422: 'IdempotencyKeyReused',
      503: 'UnavailableOrOutcomeUnknown'
    }
  }
}

type Kind = keyof typeof kinds

/** The response to a success, without the wrapper of links. */
function successOf(
  response: Response | undefined,
  kind: Kind,
  headers: Headers
) {
  const { description = '', content = {} } = response ?? {}
  const [, name] =
    /schemas.(Station|Trip|Booking|BookingPayment)"/.exec(
      JSON.stringify(content)
    ) ?? []
  const schema = refer('schemas', String(name))
  const isList = kind === 'list'

  return {
    description,
    headers: {
      ...headers[kind === 'post' ? 'created' : 'usual'],
      ...(isList && { Link: refer('headers', 'NextPage') })
    },
    ...(name && {
      content: json(isList ? { type: 'array', items: schema } : schema)
    })
  }
}

function bodyOf({ operationId, requestBody }: Operation) {
  const { examples = bookingExamples } =
    requestBody?.content['application/json'] ?? {}
  const name =
    operationId === 'create-booking' ? 'BookingInput' : 'BookingPaymentInput'
  return { required: true, content: json(refer('schemas', name), { examples }) }
}

const camelCase = (text: string) =>
  text.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())

function operationOf(operation: Operation, kind: Kind, headers: Headers) {
  const { operationId, tags, parameters = [], responses } = operation
  const { parameters: added, errors } = kinds[kind]
  const [[status, success] = ['200', undefined]] = Object.entries(responses)
  const isRead = kind === 'list' || kind === 'get'

  return {
    ...operation,
    operationId: camelCase(operationId),
    security: undefined,
    'x-scopes': [`${tags[0].toLowerCase()}:${isRead ? 'read' : 'write'}`],
    parameters: [...parameters, ...added],
    requestBody: kind === 'post' ? bodyOf(operation) : undefined,
    responses: {
      [status]: successOf(success, kind, headers),
      ...Object.fromEntries(
        Object.entries({ ...usualErrors, ...errors }).map(([error, name]) => [
          error,
          refer('responses', name)
        ])
      )
    }
  }
}

/** A path item without parameters: each operation has its own. */
function itemOf(url: string, item: PathItem, headers: Headers) {
  const { parameters: shared = [], ...operations } = item
  const changed = Object.entries(operations).map(([method, operation]) => {
    const kind = method === 'get' && !url.includes('{') ? 'list' : method
    const parameters = [...shared, ...(operation.parameters ?? [])]
    return [
      method,
      operationOf({ ...operation, parameters }, kind as Kind, headers)
    ]
  })
  return Object.fromEntries(changed) as object
}

/** The document of the trains. It refers to components of this repository's. */
export function trainDocument(ours: Ours) {
  const document = JSON.parse(readFileSync(original, 'utf8')) as Document
  const { openapi, info, tags, paths } = document
  const headers = ours['x-headers']

  return {
    openapi,
    info,
    servers: [{ url: 'https://api.example.com/v1' }, { url: '/v1' }],
    security: [{ bearerAuth: [] }],
    tags,
    paths: Object.fromEntries(
      Object.entries(paths).map(([url, item]) => [
        url,
        itemOf(url, item, headers)
      ])
    ),
    components: {
      securitySchemes: {
        bearerAuth: {
          type: 'http',
          scheme: 'bearer',
          'x-key-prefix': 'train_',
          'x-realm': 'train-travel'
        }
      },
      parameters: pageParameters,
      responses: responsesOf(ours.components.responses),
      schemas: schemasOf(document)
    }
  }
}
