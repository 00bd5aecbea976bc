// Generated from openapi.yaml by `npm run generate`. Do not edit.

import { RowJson } from '../src/framework/openapi/json.ts'
import type { components } from './types.ts'

type Schemas = components['schemas']

/** Writes a row as the JSON of the schema Category. */
export const categoryJson = new RowJson<Schemas['Category']>(
  `'{"id":' || coalesce("id"::text, raise_missing_property('Category.id'))
  || ',"name":' || coalesce(to_json("name")::text, raise_missing_property('Category.name'))
  || coalesce(',"description":' || to_json("description")::text, '')
  || '}'`
)

/** Writes a row as the JSON of the schema Message. */
export const messageJson = new RowJson<Schemas['Message']>(
  `'{"id":' || coalesce(to_json("id")::text, raise_missing_property('Message.id'))
  || ',"message":' || coalesce(to_json("message")::text, raise_missing_property('Message.message'))
  || ',"status":' || coalesce(to_json("status")::text, raise_missing_property('Message.status'))
  || ',"createdAt":' || coalesce('"' || to_char("created_at" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', raise_missing_property('Message.createdAt'))
  || '}'`
)

/** Writes a row as the JSON of the schema Order. */
export const orderJson = new RowJson<Schemas['Order']>(
  `'{"id":' || coalesce("id"::text, raise_missing_property('Order.id'))
  || ',"petId":' || coalesce("pet_id"::text, raise_missing_property('Order.petId'))
  || ',"quantity":' || coalesce("quantity"::text, raise_missing_property('Order.quantity'))
  || coalesce(',"shipDate":' || '"' || to_char("ship_date" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', '')
  || ',"complete":' || coalesce("complete"::text, raise_missing_property('Order.complete'))
  || '}'`
)

/** Writes a row as the JSON of the schema Pet. */
export const petJson = new RowJson<Schemas['Pet']>(
  `'{"id":' || coalesce("id"::text, raise_missing_property('Pet.id'))
  || ',"name":' || coalesce(to_json("name")::text, raise_missing_property('Pet.name'))
  || ',"categoryId":' || coalesce("category_id"::text, raise_missing_property('Pet.categoryId'))
  || ',"status":' || coalesce(to_json("status")::text, raise_missing_property('Pet.status'))
  || '}'`
)
