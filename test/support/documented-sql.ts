import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import { query } from './database.ts'

/** The SQL of a page of the documentation that starts with these words. */
export function documentedSql(page: string, start: string): string {
  const pattern = new RegExp(`(?<=\`\`\`sql\\n)${start}[^\`]+`)
  const [statement] = pattern.exec(readFileSync(page, 'utf8')) ?? []
  if (statement === undefined) throw new Error(`${page} has no SQL of ${start}`)

  return statement
}

/**
 * Creates a role as a page documents it, on a database that nobody else may
 * connect to, such as one that deploy/roles.sh has set up. Removes it when the
 * test ends.
 *
 * @param role its name on the page
 * @param url of the database, as its superuser
 * @returns the URL for the role
 */
export async function createDocumentedRole(
  t: Test,
  page: string,
  role: string,
  url: string
): Promise<string> {
  const name = `petcat_test_${role}_${process.pid}`
  const database = new URL(url).pathname.slice(1)
  const sql = documentedSql(page, 'CREATE ROLE')
    .replaceAll(new RegExp(`\\b${role}\\b`, 'g'), name)
    .replaceAll('pet_categories', database)

  await query(url, `REVOKE ALL ON DATABASE ${database} FROM PUBLIC; ${sql}`)
  t.teardown(() => query(url, `DROP OWNED BY ${name}; DROP ROLE ${name}`))

  const login = { username: name, password: 'change-me' }

  return Object.assign(new URL(url), login).href
}
