/** The text of each statement, by name. */
type Statements = Map<string, string>

const statementsOf = new WeakMap<object, Statements>()

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

  const statements = statementsOf.get(database) ?? new Map<string, string>()

  if ((statements.get(name) ?? text) !== text)
    throw new Error(`two operations name different statements ${name}`)

  statementsOf.set(database, statements.set(name, text))
}
