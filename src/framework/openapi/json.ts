import { Readable } from 'node:stream'

/** Exists for the compiler only. */
declare const shape: unique symbol

/**
 * Marks a value as belonging to exactly one type. As the parameter and result
 * of a function, a wider or narrower type does not match either.
 */
interface Shaped<Type> {
  readonly [shape]: (value: Type) => Type
}

/**
 * How PostgreSQL writes a row as the JSON of a schema. `npm run generate` makes
 * one for each schema of a response.
 *
 * It is not a string, so a resource cannot put it into its SQL.
 * src/framework/rows, src/framework/lists and src/framework/creates put its
 * expression around the rows of a statement, and return their JSON as JSON of
 * the same schema.
 */
export type RowJson<Schema> = RowExpression & Shaped<Schema>

/** An SQL expression for the JSON of a row, from these columns of the row. */
export interface RowExpression {
  readonly expression: string
  /** As SQL: quoted where PostgreSQL needs it. */
  readonly columns: readonly string[]
}

/** JSON that PostgreSQL has written, whose shape the compiler knows. */
export type JsonBytes<Body> = Buffer & Shaped<Body>

/** A stream of such JSON. */
export type JsonStream<Body> = Readable & Shaped<Body>

/** A property of a request body, and the column that stores it. */
export interface BodyColumn<Body> {
  property: keyof Body & string
  /** As SQL: quoted if it is a keyword. */
  column: string
  /** The SQL type of the column. */
  type: string
}

/**
 * States the schema whose JSON an SQL expression writes. Only generated code
 * may do so: it is right because the generator is.
 */
export function rowJson<Schema>(
  expression: string,
  columns: readonly string[]
): RowJson<Schema> {
  return shaped({ expression, columns })
}

// `_json` of the next functions is not read: its type says which schema the
// bytes have.

/** The object that an expression has written, ready to be sent. */
export function objectBytes<Schema>(
  _json: RowJson<Schema>,
  text: string
): JsonBytes<Schema> {
  return shaped(Buffer.from(text))
}

/** The array whose items an expression has written, ready to be sent. */
export function arrayBytes<Schema>(
  _json: RowJson<Schema>,
  bytes: Buffer
): JsonBytes<Schema[]> {
  return shaped(bytes)
}

/** A stream of such a JSON array. */
export function arrayStream<Schema>(
  _json: RowJson<Schema>,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>
): JsonStream<Schema[]> {
  const options = { objectMode: false, highWaterMark: 1 }
  return shaped(Readable.from(chunks, options))
}

/** The one cast to this type: the compiler cannot know the shape. */
function shaped<Value, Type>(value: Value): Value & Shaped<Type> {
  return value as Value & Shaped<Type>
}
