import Fastify, { type InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { sendError } from '../../../src/framework/http/errors.ts'
import { readApiDocument } from '../../../src/framework/openapi/document.ts'
import { operationRoutes } from '../../../src/framework/openapi/routes.ts'
import { createDatabase, openDatabase, query } from '../../support/database.ts'
import { toyHandlers } from './toys.ts'

const id = '01976e3c-9a5e-7cc2-b7a1-5f0f3a6f1b44'
const sold = '01976e3c-9a5e-7cc2-b7a1-5f0f3a6f1b45'
const unknown = '01976e3c-9a5e-7cc2-b7a1-5f0f3a6f1b46'

// The key is a uuid, and a column is a keyword.
const table = `
  CREATE TABLE toys (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    "order" bigint NOT NULL DEFAULT 1,
    is_sold boolean NOT NULL DEFAULT false,
    note text,
    sold_at timestamptz(3)
  );
  INSERT INTO toys (id, name) VALUES ('${id}', 'Ball');
  INSERT INTO toys (id, name, is_sold) VALUES ('${sold}', 'Bone', true)`

/** Serves the recipes. Returns a function that sends a request. */
async function serve(t: Test) {
  const databaseUrl = await createDatabase(t)
  await query(databaseUrl, table)

  const app = Fastify()
  app.setErrorHandler(sendError)
  t.teardown(() => app.close())
  await app.register(operationRoutes, {
    apiDocument: readApiDocument('test/framework/recipes/openapi.yaml'),
    handlers: toyHandlers(openDatabase(t, databaseUrl)),
    securityHooks: {}
  })

  return async (
    method: 'GET' | 'PATCH' | 'DELETE',
    toyId: string,
    body?: string
  ) => {
    const url = `/v1/toys/${toyId}`
    const headers = { 'content-type': 'application/json' }
    const request: InjectOptions =
      body === undefined
        ? { method, url }
        : { method, url, headers, payload: body }
    const response = await app.inject(request)

    return `${response.statusCode} ${response.body}`
  }
}

const ball = `200 {"id":"${id}","name":"Ball","order":1,"isSold":false}`
const notFound = `404 {"code":"not_found","message":"There is no toy with the id ${unknown}","status":404}`

t.test('GET returns the row with an id, or 404', async (t) => {
  const send = await serve(t)

  t.equal(await send('GET', id), ball)
  t.equal(await send('GET', unknown), notFound)
  t.match(await send('GET', 'x'), '400 {"code":"invalid_request"')
})

t.test(
  'PATCH changes the properties of its body and leaves out what is null',
  async (t) => {
    const send = await serve(t)
    const change = (body: string) => send('PATCH', id, body)
    const toy = (properties: string) =>
      `200 {"id":"${id}","name":"Ball",${properties}}`

    t.equal(
      await change('{"note":"a \\"b\\" é","order":9223372036854775807}'),
      toy('"order":9223372036854775807,"isSold":false,"note":"a \\"b\\" é"')
    )
    t.equal(
      await change('{"note":null,"soldAt":"2026-01-31T12:00:00.5+02:00"}'),
      toy(
        '"order":9223372036854775807,"isSold":false,' +
          '"soldAt":"2026-01-31T10:00:00.500Z"'
      )
    )
    t.equal(
      await change('{"order":1,"soldAt":null,"isSold":true}'),
      toy('"order":1,"isSold":true')
    )
    t.equal(await send('GET', id), toy('"order":1,"isSold":true'))
  }
)

t.test('PATCH rejects what it must not change, and an id', async (t) => {
  const send = await serve(t)

  for (const body of ['{}', '{"name":null}', `{"id":"${sold}"}`])
    t.match(await send('PATCH', id, body), '400 {"code":"invalid_request"')

  t.equal(await send('PATCH', unknown, '{"name":"Car"}'), notFound)
  t.equal(await send('GET', id), ball)
})

t.test('DELETE deletes a row once, or responds with why not', async (t) => {
  const send = await serve(t)

  t.equal(await send('DELETE', id), '204 ')
  t.match(await send('DELETE', id), '404 {"code":"not_found"')
  t.match(await send('DELETE', sold), '409 {"code":"toy_sold"')
})
