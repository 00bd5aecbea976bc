import { type Operations, stubs } from '../../generated/operations.ts'
import type { Config } from '../config.ts'
import { changePrivileges } from '../postgres/changes.ts'
import type { Database } from '../postgres/database.ts'
import { keyPrivileges } from '../api-keys/store.ts'
import { responseMemory } from '../sharing/response-memory.ts'
import { categoryHandlers, categoryPrivileges } from './categories.ts'
import { messageHandlers, messagePrivileges } from './messages.ts'

/** The privileges of the service's database role, by table or sequence. */
export const privileges = { ...keyPrivileges, ...changePrivileges, ...categoryPrivileges, ...messagePrivileges }

/** The handler of every operation; an operation without one has its generated stub. */
export function operationHandlers(database: Database, config: Config): Operations {
  return { ...stubs, ...categoryHandlers(database, responseMemory(config)), ...messageHandlers(database) }
}
