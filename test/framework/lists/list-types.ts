// The compiler is the test, in `npm run check`: a list can only be the
// operation that returns an array of its rows.
import type { Operations } from '../../support/notes/generated/operations.ts'
import type { components } from '../../support/notes/generated/types.ts'
import {
  filteredListOperation,
  listOperation
} from '../../../src/framework/lists/list-operation.ts'
import type { RowJson } from '../../../src/framework/openapi/json.ts'

type Schemas = components['schemas']

declare const database: Parameters<typeof listOperation>[0]
declare const memory: Parameters<typeof listOperation>[1]
declare const note: RowJson<Schemas['Note']>
declare const newNote: RowJson<Schemas['NewNote']>
declare const tag: RowJson<Schemas['Tag']>

const notes = { table: 'notes', json: note }
const newNotes = { table: 'notes', json: newNote }
const tags = { table: 'tags', json: tag }

type List = Pick<Operations, 'listNotes'>

export const accepted: List = {
  listNotes: listOperation(database, memory, notes)
}

export const listOfAnotherSchema: List = {
  // @ts-expect-error tags are not notes
  listNotes: listOperation(database, memory, tags)
}

export const listWithoutProperty: List = {
  // @ts-expect-error a new note has no id
  listNotes: listOperation(database, memory, newNotes)
}

const byKey = { table: 'notes', orderColumn: 'name', json: newNote }
export const keyed = listOperation(database, memory, byKey)

// @ts-expect-error a row without an id has no default key
export const keyless = listOperation(database, memory, newNotes)

const filters = { status: (placeholder: string) => `status = ${placeholder}` }
const filtered = { ...notes, filters }

export const filteredByUnknown: List = {
  // @ts-expect-error listNotes has no parameter `status`
  listNotes: filteredListOperation(database, memory, filtered)
}
