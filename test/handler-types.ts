// The compiler is the test, in `npm run check`: it accepts the first handler,
// and rejects the line after each `@ts-expect-error`.
import type { OperationHandlers } from '../generated/operations.ts'
import type { components } from '../generated/types.ts'
import type { SerializedJson } from '../src/openapi/operation-handler.ts'

type Handler = OperationHandlers['createCategory']

declare const pet: SerializedJson<components['schemas']['Pet']>

export const accepted: Handler = () => Promise.resolve({ id: 1, name: 'x' })

export const rejected: Handler[] = [
  // @ts-expect-error an id is a number
  () => Promise.resolve({ id: '1', name: 'x' }),

  // @ts-expect-error a property is missing
  () => Promise.resolve({ id: 1 }),

  // @ts-expect-error JSON of another schema, although it has all properties
  () => Promise.resolve(pet),

  // @ts-expect-error no response
  () => Promise.resolve()
]
