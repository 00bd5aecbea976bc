import t from 'tap'
import { HttpError, toHttpError } from '../../../src/framework/http/errors.ts'

const internalError = {
  status: 500,
  code: 'internal_error',
  message: 'Internal error: quote the X-Request-Id when you report it'
}

const thrown = (properties: object) =>
  Object.assign(new Error('/etc/secret is unreadable'), properties)

t.test('an error of a plugin keeps its status', (t) => {
  t.same(toHttpError(thrown({ statusCode: 409 })).body, {
    status: 409,
    code: 'invalid_request',
    message: 'Conflict'
  })
  t.same(toHttpError(thrown({ statusCode: 499 })).body, {
    status: 499,
    code: 'invalid_request',
    message: 'Invalid request'
  })
  t.end()
})

t.test('an error of Fastify keeps its message', (t) => {
  const error = {
    statusCode: 415,
    code: 'FST_ERR_CTP_EMPTY_TYPE',
    message: 'The type cannot be empty'
  }

  t.same(toHttpError(error).body, {
    status: 415,
    code: 'invalid_request',
    message: 'The type cannot be empty'
  })

  const { message } = toHttpError({ ...error, message: undefined })
  t.equal(message, 'Unsupported Media Type')
  t.end()
})

t.test('an error keeps its headers unless its response has others', (t) => {
  const headers = { 'content-range': 'bytes */100', 'retry-after': '9' }
  const range = toHttpError(thrown({ statusCode: 416, headers }))
  t.same(range.headers, headers)
  const overloaded = toHttpError(thrown({ code: 'overloaded', headers }))
  t.same(overloaded.headers, { 'retry-after': '1' })
  t.end()
})

t.test('everything else is an internal error without details', (t) => {
  const errors = [
    thrown({}),
    thrown({ statusCode: 500 }),
    thrown({ statusCode: 599, code: 'FST_ERR_X' }),
    thrown({ statusCode: 200 }),
    'a string'
  ]
  for (const error of errors) t.same(toHttpError(error).body, internalError)
  t.end()
})

t.test('an HttpError is its own response', (t) => {
  const error = new HttpError(404, 'not_found', 'Nothing')
  t.equal(toHttpError(error), error)
  t.end()
})
