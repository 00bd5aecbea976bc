/** Exists for the compiler only. */
declare const shape: unique symbol

/**
 * JSON that PostgreSQL has written, as text or as bytes. The compiler knows its
 * type: a wider or narrower one does not match.
 */
export type RawJson<
  Body,
  Content extends Buffer | string = Buffer | string
> = Content & { readonly [shape]: (body: Body) => Body }

/**
 * How PostgreSQL writes a row as the JSON of a schema. `npm run generate` makes
 * one for each schema of a response. Only generated code may make one: its
 * schema is right because the generator is.
 */
export class RowJson<Schema> {
  declare readonly [shape]: (body: Schema) => Schema
  /** An SQL expression of the columns of the row. */
  readonly expression: string

  constructor(expression: string) {
    this.expression = expression
  }
}

/** A property of a request body, and the column that stores it. */
export interface BodyColumn<Body> {
  property: keyof Body & string
  /** The column in SQL, quoted. */
  column: string
  /** The SQL type of the column. */
  type: string
  /** What validation adds if the property is left out. */
  default?: unknown
}

/** What the OpenAPI document says of pages. From generated/pages.ts. */
export interface DocumentedPage {
  /** The SQL type of the column `id`, and of `input.after`. */
  idType: 'bigint' | 'uuid'
  /** The maximum of `limit`. */
  maxSize: number
}
