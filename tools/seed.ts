// `npm run seed`: adds the categories, pets and orders of the examples in
// openapi.yaml to the configured database, unless it has pets.
import { withConnection } from '../src/commands/with-connection.ts'
import { exitWithError } from '../src/exit-with-error.ts'

// One statement, because PostgreSQL checks foreign keys only at its end.
const addExamples = `
  WITH category AS (
    INSERT INTO categories (name, description)
    SELECT *
    FROM (VALUES
      ('Dog', 'Loyal, needs long walks'),
      ('Cat', NULL),
      ('Rabbit', 'Small mammals with long ears'),
      ('Fish', NULL)
    ) AS example
    WHERE NOT EXISTS (SELECT FROM pets)
    RETURNING id, name
  ),
  pet AS (
    INSERT INTO pets (name, category_id, status)
    SELECT example.name, category.id, status
    FROM (VALUES
      ('Bella', 'Dog', 'available'),
      ('Milo', 'Cat', 'pending'),
      ('Luna', 'Rabbit', 'sold')
    ) AS example (name, category, status)
    JOIN category ON category.name = example.category
    ORDER BY category.id
    RETURNING id, name
  )
  INSERT INTO orders (pet_id, ship_date, complete)
  SELECT pet.id, ship_date, complete
  FROM (VALUES
    ('Milo', NULL, false),
    ('Luna', timestamptz '2026-11-20T09:30:00Z', true)
  ) AS example (pet, ship_date, complete)
  JOIN pet ON pet.name = example.pet
  ORDER BY pet.id
  RETURNING id`

await withConnection(async (connection) => {
  const { rows: orders } = await connection.query(addExamples)
  return orders.length > 0
    ? 'Added 4 categories, 3 pets and 2 orders.'
    : 'Nothing was added: the database has pets.'
}).catch(exitWithError)
