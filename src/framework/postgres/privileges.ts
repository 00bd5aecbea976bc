import pg, { type ClientBase } from 'pg'
import { sql } from './sql.ts'

/** Privileges by table, sequence or function: `{ pets: 'SELECT, INSERT' }`. */
export type Privileges = Record<string, string>

/** Joins the privileges on an object that several statements need. */
export function joinPrivileges(parts: Privileges[]): Privileges {
  const all: Privileges = {}

  for (const [object, needed] of parts.flatMap(Object.entries<string>)) {
    const others = all[object]

    all[object] = others === undefined ? needed : `${others}, ${needed}`
  }

  return all
}

/** The access control list of the function $1. */
const aclOfFunction = sql`
  SELECT proacl AS acl, NULL AS part
  FROM pg_proc
  WHERE oid = $1::regprocedure
`

/** The access control lists of the table or sequence $1, and of its columns. */
const aclsOfTable = sql`
  SELECT relacl AS acl, NULL AS part
  FROM pg_class
  WHERE oid = $1::regclass
  UNION ALL
  SELECT attacl, 'on a column'
  FROM pg_attribute
  WHERE attrelid = $1::regclass
`

/**
 * The privileges of the role $2. One that needs to be revoked has a name that
 * no GRANT of this service has, such as `SELECT on a column`.
 */
const privilegesIn = (acls: string) => sql`
  SELECT
    concat_ws(
      ' ',
      privilege_type,
      part,
      CASE WHEN is_grantable THEN 'with grant option' END
    ) AS privilege
  FROM (
    ${acls}
  ) AS object
  CROSS JOIN LATERAL aclexplode(acl)
  WHERE grantee = $2::regrole
`

const privilegesOnFunction = privilegesIn(aclOfFunction)
const privilegesOnTable = privilegesIn(aclsOfTable)

/**
 * Gives a role these privileges on these objects, and no others. Objects on
 * which it already has them stay as they are: replicas mistake a GRANT for a
 * change of the table, and would read its list again.
 */
export async function grantExactly(
  connection: ClientBase,
  roleName: string,
  privileges: Privileges
): Promise<void> {
  const role = pg.escapeIdentifier(roleName)

  for (const [object, needed] of Object.entries(privileges)) {
    const granted = await readGranted(object, role, connection)
    if (isSame(granted, needed.split(', '))) continue

    await connection.query(`REVOKE ALL ON ${object} FROM ${role}`)
    await connection.query(`GRANT ${needed} ON ${object} TO ${role}`)
  }
}

/** @param role as an SQL identifier */
async function readGranted(
  object: string,
  role: string,
  connection: ClientBase
): Promise<string[]> {
  const isFunction = object.startsWith('FUNCTION ')
  const name = object.replace(/^(FUNCTION|SEQUENCE) /, '')

  const { rows } = await connection.query<{ privilege: string }>(
    isFunction ? privilegesOnFunction : privilegesOnTable,
    [name, role]
  )

  return rows.map(({ privilege }) => privilege)
}

/** Whether two lists have the same texts, in any order. */
function isSame(some: string[], others: string[]): boolean {
  const textOf = (list: string[]) => [...new Set(list)].sort().join()
  return textOf(some) === textOf(others)
}
