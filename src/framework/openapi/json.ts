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
 * one for each schema of a response. src/framework/rows, src/framework/lists
 * and src/framework/creates put its expression around the rows of a statement,
 * and return their JSON as JSON of the same schema.
 */
export type RowJson<Schema> = RowExpression & Shaped<Schema>

/** An SQL expression for the JSON of a row. */
export interface RowExpression {
  readonly expression: string
}

/** JSON that PostgreSQL has written, whose shape the compiler knows. */
export type JsonBytes<Body> = Buffer & Shaped<Body>

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
export function rowJson<Schema>(expression: string): RowJson<Schema> {
  return shaped({ expression })
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

/** The one cast to this type: the compiler cannot know the shape. */
function shaped<Value, Type>(value: Value): Value & Shaped<Type> {
  return value as Value & Shaped<Type>
}
