// Adds the data of the examples in openapi.yaml.
import { withMigratedDatabase } from '../src/commands/run-command.ts'
import { exitOnError } from '../src/framework/exit-on-error.ts'
import { api } from '../src/handlers/index.ts'

// One statement, because PostgreSQL checks foreign keys only at its end.
const text = `
  WITH station AS (
    INSERT INTO stations (id, name, address, country_code) VALUES
      ('efdbb9d1-02c2-4bc3-afb7-6788d8782b1e', 'Berlin', 'Platz 1', 'DE'),
      ('b2e783e1-c824-4d63-b37a-d8d698862f1d', 'Paris', 'Place 1', 'FR')
  ),
  trip AS (
    INSERT INTO trips (id, origin, destination, departure_time, arrival_time)
    VALUES (
      'ea399ba1-6d95-433f-92d1-83f67b775594',
      'efdbb9d1-02c2-4bc3-afb7-6788d8782b1e',
      'b2e783e1-c824-4d63-b37a-d8d698862f1d',
      '2024-02-01T10:00:00Z',
      '2024-02-01T16:00:00Z'
    )
  )
  INSERT INTO bookings (id, trip_id, passenger_name) VALUES (
    '1725ff48-ab45-4bb5-9d02-88745177dedb',
    'ea399ba1-6d95-433f-92d1-83f67b775594',
    'John Doe'
  )`

await withMigratedDatabase(async (database) => {
  await database.run('writes', { text })
  return 'Added the data of the examples.'
}).catch(exitOnError(api.names.service))
