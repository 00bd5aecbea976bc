import { newBookingColumns } from '../../generated/columns.ts'
import { bookingJson, stationJson } from '../../generated/json.ts'
import type { OperationHandlers } from '../../generated/operations.ts'
import { getStationsPage } from '../../generated/pages.ts'
import { createHandler } from '../framework/creates/create-handler.ts'
import { notFound } from '../framework/errors.ts'
import { pageHandler } from '../framework/reads/page-handler.ts'
import type { ResponseBuffers } from '../framework/reads/response-buffers.ts'
import { sendJson } from '../framework/openapi/handler.ts'
import type { Database } from '../framework/postgres/database.ts'
import { sql, writeSettings } from '../framework/postgres/sql.ts'
import { rowReader } from '../framework/reads/row-reader.ts'

export function trainHandlers(
  database: Database,
  buffers: ResponseBuffers
): OperationHandlers {
  const readBooking = rowReader(database, {
    statementName: 'getBooking',
    inputTypes: { id: 'uuid' },
    select: sql`
      SELECT *
      FROM bookings
      WHERE bookings.id = input.id
    `,
    json: bookingJson
  })
  const deletion = database.prepareSingleRow(
    'deleteBooking',
    sql`
      DELETE FROM bookings
      WHERE id = $1
        AND ${writeSettings}
      RETURNING id
    `
  )

  return {
    getStations: pageHandler(database, buffers, {
      ...getStationsPage,
      statementName: 'getStations',
      filterTypes: {},
      select: sql`
        SELECT *
        FROM stations
        WHERE id > input.after
      `,
      json: stationJson
    }),

    createBooking: createHandler(database, {
      operationId: 'createBooking',
      status: 201,
      table: 'bookings',
      newId: 'gen_random_uuid()',
      bodyColumns: newBookingColumns,
      errorsByConstraint: {
        bookings_station_id_fkey: ({ body }) =>
          notFound('station', body.station_id)
      },
      json: bookingJson
    }),

    getBooking: async (request, reply) => {
      const { bookingId: id } = request.params
      const booking = await readBooking({ id })
      if (booking === undefined) throw notFound('booking', id)
      return sendJson(reply, 200, booking)
    },

    deleteBooking: async (request, reply) => {
      const { bookingId: id } = request.params
      const deleted = await deletion([id])
      if (deleted.length === 0) throw notFound('booking', id)
      return reply.code(204).send()
    }
  }
}
