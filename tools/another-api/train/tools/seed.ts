// Adds the data of the examples in openapi.yaml.
import { withMigratedDatabase } from '../src/commands/run-command.ts'
import { exitOnError } from '../src/framework/exit-on-error.ts'
import { api } from '../src/handlers/index.ts'

// One statement, because PostgreSQL checks foreign keys only at its end.
const text = `
  WITH station AS (
    INSERT INTO stations (id, name) VALUES
      ('efdbb9d1-02c2-4bc3-afb7-6788d8782b1e', 'Berlin')
  )
  INSERT INTO bookings (id, station_id, passenger_name) VALUES (
    '1725ff48-ab45-4bb5-9d02-88745177dedb',
    'efdbb9d1-02c2-4bc3-afb7-6788d8782b1e',
    'John Doe'
  )`

await withMigratedDatabase(async (database) => {
  await database.run('writes', { text })
  return 'Added the data of the examples.'
}).catch(exitOnError(api.names.service))
