import { query } from '../../test/support/database.ts'

// pg_dump would have to be at least as new as the server.
const objects = `
  SELECT
    'table' AS kind,
    relname AS name,
    concat_ws(' ', relkind, relpersistence, relacl) AS definition
  FROM pg_class
  WHERE relnamespace = 'public'::regnamespace

  UNION ALL
  SELECT
    'column',
    concat(attrelid::regclass, '.', attname),
    concat_ws(
      ' ',
      attnum,
      format_type(atttypid, atttypmod),
      attnotnull,
      attidentity,
      pg_get_expr(adbin, adrelid)
    )
  FROM pg_attribute
  JOIN pg_class ON pg_class.oid = attrelid
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  WHERE relnamespace = 'public'::regnamespace AND attnum > 0

  UNION ALL
  SELECT 'index', indexrelid::regclass::text, pg_get_indexdef(indexrelid)
  FROM pg_index
  JOIN pg_class ON pg_class.oid = indexrelid
  WHERE relnamespace = 'public'::regnamespace

  UNION ALL
  SELECT
    'constraint',
    concat(conrelid::regclass, '.', conname),
    pg_get_constraintdef(oid)
  FROM pg_constraint
  WHERE connamespace = 'public'::regnamespace

  UNION ALL
  SELECT
    'trigger',
    concat(tgrelid::regclass, '.', tgname),
    concat_ws(' ', tgenabled, pg_get_triggerdef(oid))
  FROM pg_trigger
  WHERE NOT tgisinternal

  UNION ALL
  SELECT
    'function',
    oid::regprocedure::text,
    concat_ws(' ', proacl, pg_get_functiondef(oid))
  FROM pg_proc
  WHERE pronamespace = 'public'::regnamespace

  ORDER BY kind, name
`

/** Everything in the schema `public` of a database, with its definition. */
export const describeSchema = (url: string) => query(url, objects)
