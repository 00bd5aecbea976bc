// Names of columns in generated SQL.

/**
 * The keywords that PostgreSQL's quote_ident quotes: all that pg_get_keywords()
 * does not call unreserved.
 */
const keywords = `
  all analyse analyze and any array as asc asymmetric authorization between
  bigint binary bit boolean both case cast char character check coalesce
  collate collation column concurrently constraint create cross
  current_catalog current_date current_role current_schema current_time
  current_timestamp current_user dec decimal default deferrable desc
  distinct do else end except exists extract false fetch float for foreign
  freeze from full grant greatest group grouping having ilike in initially
  inner inout int integer intersect interval into is isnull join json
  json_array json_arrayagg json_exists json_object json_objectagg json_query
  json_scalar json_serialize json_table json_value lateral leading least
  left like limit localtime localtimestamp merge_action national natural
  nchar none normalize not notnull null nullif numeric offset on only or
  order out outer overlaps overlay placing position precision primary real
  references returning right row select session_user setof similar smallint
  some substring symmetric system_user table tablesample then time timestamp
  to trailing treat trim true union unique user using values varchar
  variadic verbose when where window with xmlattributes xmlconcat xmlelement
  xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize
  xmltable
`
  .trim()
  .split(/\s+/)

/**
 * Columns of the statements of creates (src/framework/creates), beside those of
 * a body. A column of a body with such a name would be ambiguous.
 */
const columnsOfCreates = [
  'body_hash',
  'key_hash',
  'obstacle',
  'ordinal',
  'recorded_hash',
  'recorded_response',
  'response'
]

/** The column of a property, as SQL: quoted where PostgreSQL needs it. */
export function columnOf(property: string): string {
  const name = snakeCase(property)
  const isPlain = /^[a-z_][a-z0-9_]*$/.test(name)
  return isPlain && !keywords.includes(name) ? name : `"${name}"`
}

/**
 * @param path of the property, such as `NewPet.name`
 * @throws Error if a body cannot have the property
 */
export function rejectColumnOfCreates(path: string, column: string): void {
  if (!columnsOfCreates.includes(column)) return

  throw new Error(
    `openapi.yaml: ${path} would be the column ${column}, which the ` +
      'statements of creates use for themselves. Rename the property'
  )
}

const snakeCase = (name: string) =>
  name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
