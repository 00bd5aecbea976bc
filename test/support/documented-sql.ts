import { readFileSync } from 'node:fs'

/** The SQL of a page of the documentation that begins with these words. */
export function documentedSql(page: string, begin: string): string {
  const text = readFileSync(page, 'utf8')
  const statements = text.match(/(?<=```sql\n)[^`]+/g) ?? []
  const found = statements.find((statement) => statement.startsWith(begin))
  if (found === undefined) throw new Error(`${page} has no SQL of ${begin}`)
  return found
}
