// The compiler is the test, in `npm run check`: a list can only be the
// operation that returns an array of its rows.
import type { Operations } from '../../support/notes/generated/operations.ts'
import type { components } from '../../support/notes/generated/types.ts'
import { listOperation } from '../../../src/framework/lists/lists.ts'
import type { RowJson } from '../../../src/framework/openapi/json.ts'

type Schemas = components['schemas']

declare const database: Parameters<typeof listOperation>[0]
declare const memory: Parameters<typeof listOperation>[1]
declare const note: RowJson<Schemas['Note']>
declare const tag: RowJson<Schemas['Tag']>

const notes = { table: 'notes', json: note }
const tags = { table: 'tags', json: tag }

type List = Pick<Operations, 'listNotes'>

export const accepted: List = {
  listNotes: listOperation(database, memory, notes)
}

export const listOfAnotherSchema: List = {
  // @ts-expect-error tags are not notes
  listNotes: listOperation(database, memory, tags)
}
