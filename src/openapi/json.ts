import type { Readable } from 'node:stream'

/** Exists for the compiler only. */
declare const shape: unique symbol

/**
 * An SQL expression that writes a row as the JSON of a schema.
 * `npm run generate` makes one for each schema of openapi.yaml.
 */
export type RowJson<Schema> = string & { readonly [shape]: Schema }

/** JSON that PostgreSQL has written, whose shape the compiler knows. */
export type JsonBytes<Body> = Buffer & { readonly [shape]: Body }

/** A stream of such JSON. */
export type JsonStream<Body> = Readable & { readonly [shape]: Body }

/** The JSON object that `row` has written, ready to be sent. */
export function objectBytes<Schema>(
  _row: RowJson<Schema>,
  json: string
): JsonBytes<Schema> {
  return Buffer.from(json) as JsonBytes<Schema>
}
