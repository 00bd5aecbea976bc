import t from 'tap'
import { documentOf } from './serve.ts'

/** Paths with a create that has a Location and these links. */
const pathsWith = (links?: object) => ({
  '/orders/{orderId}/items': {
    post: {
      operationId: 'createItem',
      responses: {
        201: {
          description: 'Created',
          headers: { Location: { schema: { type: 'string' } } },
          ...(links && { links })
        }
      }
    }
  },
  '/orders/{orderId}/items/{itemId}': {
    get: { operationId: 'getItem', responses: {} }
  }
})

const parameters = {
  orderId: '$response.body#/order',
  itemId: '$response.body#/id'
}

t.test('a Location is where the link to a GET operation leads', (t) => {
  const { operations } = documentOf(
    t,
    pathsWith({
      create: { operationId: 'createItem' },
      get: { operationId: 'getItem', parameters }
    })
  )
  t.equal(operations[0]?.location, '../../orders/{order}/items/{id}')
  t.end()
})

const useless: Record<string, object | undefined> = {
  'no link': undefined,
  'a link to a component': { get: { $ref: '#/components/links/getItem' } },
  'a link to a POST': { create: { operationId: 'createItem', parameters } },
  'a parameter of the request': {
    get: {
      operationId: 'getItem',
      parameters: { ...parameters, orderId: '$request.path.orderId' }
    }
  }
}

for (const [title, links] of Object.entries(useless)) {
  t.test(`a Location with ${title} stops the start`, (t) => {
    t.throws(() => documentOf(t, pathsWith(links)), {
      message:
        'The 201 of createItem has a Location, but no link to a GET ' +
        'operation whose parameters are properties of the body'
    })
    t.end()
  })
}
