import Fastify from 'fastify'
import type { OpenAPIV3 } from 'openapi-types'
import t from 'tap'
import {
  locationOf,
  relativeTarget,
  sendLocation
} from '../../../src/framework/openapi/location.ts'

type Links = OpenAPIV3.ResponseObject['links']

const operation = (operationId: string) => ({ operationId, responses: {} })
const paths = {
  '/orders': { post: operation('createOrder') },
  '/orders/{orderId}/items/{itemId}': {
    put: operation('changeItem'),
    get: operation('getItem')
  }
}

/** A create whose response 201 has these links, and a Location. */
const createWith = (links?: Links) => ({
  operationId: 'createItem',
  responses: {
    201: {
      description: 'Created',
      headers: { Location: {} },
      ...(links && { links })
    }
  }
})

const parameters = {
  orderId: '$response.body#/order',
  itemId: '$response.body#/id'
}

t.test('a Location is where the link to a GET operation leads', (t) => {
  const create = createWith({
    create: { operationId: 'createOrder' },
    get: { operationId: 'getItem', parameters }
  })
  t.equal(locationOf(create, paths), '/orders/{order}/items/{id}')
  t.end()
})

t.test('an operation without a Location in its 201 has none', (t) => {
  const created = { description: 'Created' }
  const others: OpenAPIV3.ResponsesObject[] = [
    { 200: { description: 'OK' } },
    { 201: { $ref: '#/components/responses/Created' } },
    { 201: created },
    { 201: { ...created, headers: {} } }
  ]
  for (const responses of others)
    t.equal(locationOf({ responses }, paths), undefined)
  t.end()
})

const useless: Record<string, Links> = {
  'no link': undefined,
  'a link to a component': { get: { $ref: '#/components/links/getItem' } },
  'a link to a PUT': { change: { operationId: 'changeItem', parameters } },
  'a link without parameters': { get: { operationId: 'getItem' } },
  'a parameter of the request': {
    get: {
      operationId: 'getItem',
      parameters: { ...parameters, orderId: '$request.path.orderId' }
    }
  }
}

for (const [title, links] of Object.entries(useless)) {
  t.test(`a Location with ${title} stops the start`, (t) => {
    t.throws(() => locationOf(createWith(links), paths), {
      message:
        'The 201 of createItem has a Location, but no link to a GET ' +
        'operation whose parameters are properties of the body'
    })
    t.end()
  })
}

t.test(
  'a target is relative, because a proxy may change the base path',
  (t) => {
    const resolve = (from: string, to: string) =>
      new URL(relativeTarget(from, to), `https://proxy.test/shop/v1${from}`)
        .href

    for (const from of ['/pets', '/pets/{petId}', '/store/orders/{orderId}'])
      t.equal(
        resolve(from, '/pets/7'),
        'https://proxy.test/shop/v1/pets/7',
        from
      )
    t.end()
  }
)

t.test('only a 201 has a Location, with the exact id, escaped', async (t) => {
  const app = Fastify()
  t.teardown(() => app.close())
  app.addHook('onSend', sendLocation('orders/{order}/items/{id}'))
  app.get('/bytes', (_request, reply) =>
    reply.code(201).send(Buffer.from('{"id":9007199254740993,"order":"a/b"}'))
  )
  app.get('/object', (_request, reply) =>
    reply.code(201).send({ id: 7, order: 'é', name: 'x' })
  )
  app.get('/error', (_request, reply) => reply.code(409).send('in use'))

  const locations = {
    '/bytes': 'orders/a%2Fb/items/9007199254740993',
    '/object': 'orders/%C3%A9/items/7',
    '/error': undefined
  }
  for (const [url, location] of Object.entries(locations)) {
    const { headers } = await app.inject(url)
    t.equal(headers.location, location, url)
  }
})
