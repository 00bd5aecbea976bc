// `npm run seed`: adds the categories, pets and orders of the examples in
// openapi.yaml to the configured database, unless it has pets.
import '../src/framework/javascript-pg.ts'
import { withMigratedDatabase } from '../src/commands/run-command.ts'
import { exitOnError } from '../src/framework/exit-on-error.ts'
import { api } from '../src/handlers/index.ts'
import type { Database } from '../src/framework/postgres/database.ts'
import { writeSettings } from '../src/framework/postgres/sql.ts'

// One statement, because PostgreSQL checks foreign keys only at its end.
const addExamples = `
  WITH category AS (
    INSERT INTO categories (name, description)
    SELECT name, description
    FROM (VALUES
      (1, 'Dog', 'Loyal, needs long walks'),
      (2, 'Cat', NULL),
      (3, 'Rabbit', 'Small mammals with long ears'),
      (4, 'Fish', NULL)
    ) AS example (ordinal, name, description)
    WHERE NOT EXISTS (SELECT FROM pets)
      AND ${writeSettings}
    ORDER BY ordinal
    RETURNING id, name
  ),
  pet AS (
    INSERT INTO pets (name, category_id, status)
    SELECT example.name, category.id, status
    FROM (VALUES
      (1, 'Bella', 'Dog', 'available'),
      (2, 'Milo', 'Cat', 'pending'),
      (3, 'Luna', 'Rabbit', 'sold')
    ) AS example (ordinal, name, category, status)
    JOIN category ON category.name = example.category
    ORDER BY ordinal
    RETURNING id, name
  )
  INSERT INTO orders (pet_id, ship_date, complete)
  SELECT pet.id, ship_date, complete
  FROM (VALUES
    (1, 'Milo', NULL, false),
    (2, 'Luna', timestamptz '2026-11-20T09:30:00Z', true)
  ) AS example (ordinal, pet, ship_date, complete)
  JOIN pet ON pet.name = example.pet
  ORDER BY ordinal
  RETURNING id`

async function seed(database: Database): Promise<string> {
  const orders = await database.run('writes', { text: addExamples })
  return orders.length > 0
    ? 'Added 4 categories, 3 pets and 2 orders.'
    : 'Nothing was added: the database has pets.'
}

await withMigratedDatabase(seed).catch(exitOnError(api.names.service))
