// Generated from openapi.yaml by `npm run generate`. Do not edit.

import { RowJson } from '../../../../src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']

/** Writes a row as the JSON of the schema Note. */
export const noteJson = new RowJson<Schemas['Note']>(
  `'{"id":' || coalesce("id"::text, raise_missing_property('Note.id'))
  || ',"name":' || coalesce(to_json("name")::text, raise_missing_property('Note.name'))
  || coalesce(',"description":' || to_json("description")::text, '')
  || coalesce(',"dueAt":' || '"' || to_char("due_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', '')
  || '}'`
)

/** Writes a row as the JSON of the schema Remark. */
export const remarkJson = new RowJson<Schemas['Remark']>(
  `'{"id":' || coalesce(to_json("id")::text, raise_missing_property('Remark.id'))
  || ',"noteId":' || coalesce("note_id"::text, raise_missing_property('Remark.noteId'))
  || ',"text":' || coalesce(to_json("text")::text, raise_missing_property('Remark.text'))
  || ',"kind":' || coalesce(to_json("kind")::text, raise_missing_property('Remark.kind'))
  || ',"state":' || coalesce(to_json("state")::text, raise_missing_property('Remark.state'))
  || ',"createdAt":' || coalesce('"' || to_char("created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', raise_missing_property('Remark.createdAt'))
  || '}'`
)

/** Writes a row as the JSON of the schema Reply. */
export const replyJson = new RowJson<Schemas['Reply']>(
  `'{"id":' || coalesce("id"::text, raise_missing_property('Reply.id'))
  || ',"noteId":' || coalesce("note_id"::text, raise_missing_property('Reply.noteId'))
  || ',"text":' || coalesce(to_json("text")::text, raise_missing_property('Reply.text'))
  || coalesce(',"pinned":' || "pinned"::text, '')
  || ',"source":' || coalesce(to_json("source")::text, raise_missing_property('Reply.source'))
  || '}'`
)

/** Writes a row as the JSON of the schema Tag. */
export const tagJson = new RowJson<Schemas['Tag']>(
  `'{"id":' || coalesce("id"::text, raise_missing_property('Tag.id'))
  || ',"name":' || coalesce(to_json("name")::text, raise_missing_property('Tag.name'))
  || ',"color":' || coalesce(to_json("color")::text, raise_missing_property('Tag.color'))
  || '}'`
)
