// Generated from openapi.yaml by `npm run generate`. Do not edit.

import type { BodyColumn } from '../../../../src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']

/** The columns that store the body NewNote. */
export const newNoteColumns: BodyColumn<Schemas['NewNote']>[] = [
  { property: 'name', column: '"name"', type: 'text' },
  { property: 'description', column: '"description"', type: 'text' },
  { property: 'dueAt', column: '"due_at"', type: 'timestamptz' }
]

/** The columns that store the body NewRemark. */
export const newRemarkColumns: BodyColumn<Schemas['NewRemark']>[] = [
  { property: 'noteId', column: '"note_id"', type: 'bigint' },
  { property: 'text', column: '"text"', type: 'text' },
  { property: 'kind', column: '"kind"', type: 'text', default: "comment" }
]

/** The columns that store the body NewReply. */
export const newReplyColumns: BodyColumn<Schemas['NewReply']>[] = [
  { property: 'text', column: '"text"', type: 'text' },
  { property: 'pinned', column: '"pinned"', type: 'boolean' },
  { property: 'source', column: '"source"', type: 'jsonb' }
]

/** The columns that store the body NewTag. */
export const newTagColumns: BodyColumn<Schemas['NewTag']>[] = [
  { property: 'name', column: '"name"', type: 'text' },
  { property: 'color', column: '"color"', type: 'text' }
]
