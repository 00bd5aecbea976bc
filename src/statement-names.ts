import { initializeStatement } from './metrics.ts'

/** The text of each statement, by name. */
type Statements = Map<string, string>

const named = new WeakMap<object, Statements>()

/**
 * The statements of a database that have names, in the order in which they got
 * them.
 */
export const statementsOf = (database: object): ReadonlyMap<string, string> =>
  named.get(database) ?? new Map<string, string>()

/** Bytes of a name that PostgreSQL compares. */
const maxNameLength = 63

/**
 * Gives a name to a prepared statement of a database. PostgreSQL would reject
 * another text with the name, but only at the first request that runs it.
 *
 * @throws Error if the name belongs to another text, or is too long
 */
export function nameStatement(
  database: object,
  name: string,
  text: string
): void {
  if (name.length > maxNameLength)
    throw new Error(`the name of a statement has over 63 characters: ${name}`)

  const statements = new Map(statementsOf(database))

  if ((statements.get(name) ?? text) !== text)
    throw new Error(`two operations name different statements ${name}`)

  if (!statements.has(name)) initializeStatement(name)
  named.set(database, statements.set(name, text))
}
