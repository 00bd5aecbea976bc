import type { OperationHandlers } from '../../generated/operations.ts'
import type { components } from '../../generated/types.ts'
import { makeCreateHandler } from '../creates/create-handler.ts'
import type { Database } from '../postgres/database.ts'
import { jsonSql, utcTimeSql } from '../postgres/json-sql.ts'

type Schemas = components['schemas']

/** The operations on messages. */
export const createMessagesHandlers = (database: Database) =>
  ({
    createMessage: makeCreateHandler<Schemas['NewMessage'], Schemas['Message']>(
      database,
      {
        operationId: 'createMessage',
        table: 'messages',
        newIdSql: 'uuid_v7()',
        bodyColumns: { message: ['message', 'text'] },
        serviceColumns: {
          status: `'queued'`,
          created_at: 'now()::timestamptz(3)'
        },
        rowJsonSql: jsonSql<Schemas['Message']>({
          id: 'id',
          message: 'message',
          status: 'status',
          createdAt: utcTimeSql('created_at')
        })
      }
    )
  }) satisfies Partial<OperationHandlers>
