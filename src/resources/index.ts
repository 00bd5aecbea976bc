import { type Operations, stubs } from '../../generated/operations.ts'
import type { Config } from '../config.ts'
import type { Database } from '../postgres/database.ts'
import { responseMemory } from '../sharing/response-memory.ts'
import { categoryHandlers, categoryPrivileges } from './categories.ts'
import { messageHandlers, messagePrivileges } from './messages.ts'

/** What the database role of the service may do with each table. */
export const resourcePrivileges = { ...categoryPrivileges, ...messagePrivileges }

/** The handler of every operation; an operation without one has its generated stub. */
export function operationHandlers(database: Database, config: Config): Operations {
  return { ...stubs, ...categoryHandlers(database, responseMemory(config)), ...messageHandlers(database) }
}
