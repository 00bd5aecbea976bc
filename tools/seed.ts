// `npm run seed`: adds the categories, pets and orders of the examples in
// openapi.yaml to the configured database, unless it has pets.
import { runAndPrint } from '../src/commands/run-and-print.ts'
import { exitWithError } from '../src/exit-with-error.ts'

const addExamplesSql = `
  INSERT INTO categories (name, description)
  VALUES
    ('Dog', 'Loyal, needs long walks'),
    ('Cat', NULL),
    ('Rabbit', 'Small mammals with long ears'),
    ('Fish', NULL);

  INSERT INTO pets (name, status, category_id)
  SELECT pet, status, (SELECT max(id) FROM categories WHERE name = category)
  FROM (VALUES
    ('Bella', 'available', 'Dog'),
    ('Milo', 'pending', 'Cat'),
    ('Luna', 'sold', 'Rabbit')
  ) AS example (pet, status, category);

  INSERT INTO orders (pet_id, ship_date, complete)
  SELECT pets.id, ship_date, complete
  FROM (VALUES
    ('Milo', NULL, false),
    ('Luna', timestamptz '2026-11-20T09:30:00Z', true)
  ) AS example (pet, ship_date, complete)
  JOIN pets ON name = pet
  ORDER BY pets.id`

await runAndPrint(async (connection) => {
  const { rows: pets } = await connection.query('SELECT FROM pets LIMIT 1')
  if (pets.length > 0) return 'Nothing was added: the database has pets.'
  await connection.query(addExamplesSql)
  return 'Added 4 categories, 3 pets and 2 orders.'
}).catch(exitWithError)
