/** The text of each statement, by name. */
type Statements = Map<string, string>

const statementsOf = new WeakMap<object, Statements>()

/**
 * Gives a name to a prepared statement of a database. PostgreSQL would reject
 * another text with the name, but only at the first request that runs it.
 *
 * @throws Error if the name belongs to another text
 */
export function nameStatement(
  database: object,
  name: string,
  text: string
): void {
  const statements = statementsOf.get(database) ?? new Map<string, string>()

  if ((statements.get(name) ?? text) !== text)
    throw new Error(`two operations name different statements ${name}`)

  statementsOf.set(database, statements.set(name, text))
}
