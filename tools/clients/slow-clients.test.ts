// The generated clients that take minutes.
import { slowClients } from './clients.ts'
import { testClient } from './generated-client.ts'

for (const client of slowClients) testClient(client)
