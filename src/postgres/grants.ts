import pg, { type Client } from 'pg'

/** What the service does with each object of the database. */
const privileges = {
  api_keys: 'SELECT, INSERT, UPDATE',
  categories: 'SELECT, INSERT',
  'SEQUENCE categories_id_seq': 'USAGE',
  key_events: 'SELECT, INSERT',
  messages: 'SELECT, INSERT',
  pgmigrations: 'SELECT'
}

/**
 * Allows the role what the service needs, and takes the rest of what it may have had; it can run again.
 *
 * @param client connected as the owner of the tables
 * @throws Error when there is no such role
 */
export async function grantService(client: Client, role: string): Promise<void> {
  const to = pg.escapeIdentifier(role)
  const grants = Object.entries(privileges).map(
    ([object, granted]) => `REVOKE ALL ON ${object} FROM ${to}; GRANT ${granted} ON ${object} TO ${to};`
  )
  // Two at a time would change the same rows of the catalogue; the second waits.
  await client.query(`BEGIN; LOCK TABLE pgmigrations IN SHARE ROW EXCLUSIVE MODE; ${grants.join(' ')} COMMIT`)
}
