import { Ajv, type ValidateFunction } from 'ajv'
import addFormats from 'ajv-formats'
import type { FastifySchemaCompiler } from 'fastify'
import { badRequest } from '../http/errors.ts'
import { numberKeywords, type Schema, replaceNumberSchemas } from './numbers.ts'
import { convertParameters, withLowerCaseNames } from './parameters.ts'
import { describeSchemaError } from './validation-errors.ts'

const maxReportedErrors = 10

/**
 * Compiles a schema of the OpenAPI document to a validator of a part of a
 * request. It adds defaults, makes each int64 a bigint and each `type: number`
 * a double, and converts parameters from text. A body is otherwise left as it
 * was sent.
 */
export const validatorCompiler: FastifySchemaCompiler<Schema> = ({
  schema,
  httpPart
}) => {
  switch (httpPart) {
    case 'body':
      return bodyValidator(schema)
    case 'headers':
      // Fastify leaves this to the validator compiler.
      return parameterValidator(withLowerCaseNames(schema), 'header')
    case 'params':
      return parameterValidator(schema, 'path')
    default:
      return queryValidator(schema)
  }
}

function bodyValidator(schema: Schema) {
  const validate = compile(schema)

  return (body: unknown) => {
    // Lets a keyword replace a body that is itself a number.
    const request = { body }
    const isValid = validate(body, {
      instancePath: '',
      parentData: request,
      parentDataProperty: 'body',
      rootData: request,
      dynamicAnchors: {}
    })

    return isValid ? { value: request.body } : failure(validate, 'body')
  }
}

function parameterValidator(schema: Schema, root: string) {
  const validate = compile(schema)
  const { properties = {} } = schema

  return (parameters: Record<string, unknown>) => {
    convertParameters(parameters, properties)
    return validate(parameters) ? true : failure(validate, root)
  }
}

/** Unknown parameters are errors: a misspelt filter would be lost silently. */
function queryValidator(schema: Schema) {
  const closed = { ...schema, additionalProperties: false }
  const validate = parameterValidator(closed, 'query')
  const plainNames = namesOfPlainParameters(schema)

  return (parameters: Record<string, unknown>) => {
    const repeated = plainNames.filter((name) =>
      Array.isArray(parameters[name])
    )
    return repeated.length === 0 ? validate(parameters) : tooMany(repeated)
  }
}

function namesOfPlainParameters({ properties = {} }: Schema): string[] {
  return Object.entries(properties)
    .filter(([, { type }]) => type !== 'array')
    .map(([name]) => name)
}

function tooMany(names: string[]) {
  const messages = names.map((name) => `query.${name} must be sent once`)
  return { error: badRequest(messages.join('; ')) }
}

function compile(schema: Schema): ValidateFunction {
  const ajv = new Ajv({
    // OpenAPI has keywords that JSON Schema lacks, such as example. The linter
    // finds misspelt ones.
    strict: false,
    strictNumbers: true,
    logger: false,
    verbose: true,
    useDefaults: true,
    allErrors: true,
    keywords: numberKeywords
  })
  addFormats.default(ajv)

  return ajv.compile(replaceNumberSchemas(schema))
}

function failure({ errors }: ValidateFunction, root: string) {
  const messages = errors
    ?.slice(0, maxReportedErrors)
    .map((error) => describeSchemaError(error, root))
  return { error: badRequest(String(messages?.join('; '))) }
}
