import {
  bookingInputColumns,
  bookingPaymentInputColumns
} from '../../generated/columns.ts'
import {
  bookingJson,
  bookingPaymentJson,
  stationJson,
  tripJson
} from '../../generated/json.ts'
import type { OperationHandlers } from '../../generated/operations.ts'
import {
  getBookingsPage,
  getStationsPage,
  getTripsPage
} from '../../generated/pages.ts'
import { createHandler } from '../framework/creates/create-handler.ts'
import { notFound } from '../framework/errors.ts'
import { pageHandler } from '../framework/reads/page-handler.ts'
import type { ResponseBuffers } from '../framework/reads/response-buffers.ts'
import { sendJson } from '../framework/openapi/handler.ts'
import type { Database } from '../framework/postgres/database.ts'
import { sql, writeSettings } from '../framework/postgres/sql.ts'
import { rowReader } from '../framework/reads/row-reader.ts'

/** A page of the rows of a table that fit the filter. */
const pageOf = (table: string, filter: string) => sql`
  SELECT *
  FROM ${table}
  WHERE id > input.after
    AND ${filter}
`

const deleteBooking = sql`
  DELETE FROM bookings
  WHERE id = $1
    AND ${writeSettings}
  RETURNING id
`

export const trainHandlers = (
  database: Database,
  buffers: ResponseBuffers
): OperationHandlers => ({
  ...timetableHandlers(database, buffers),
  ...bookingHandlers(database, buffers),
  ...createHandlers(database)
})

function timetableHandlers(database: Database, buffers: ResponseBuffers) {
  const trips = pageHandler(database, buffers, {
    ...getTripsPage,
    statementName: 'getTrips',
    filterTypes: {
      origin: 'uuid',
      destination: 'uuid',
      date: 'timestamptz',
      bicycles: 'boolean',
      dogs: 'boolean'
    },
    select: pageOf(
      'trips',
      sql`trips.origin = input.origin
        AND trips.destination = input.destination
        AND departure_time BETWEEN input.date AND input.date + interval '1 day'
        AND (bicycles_allowed OR NOT bicycles)
        AND (dogs_allowed OR NOT dogs)`
    ),
    json: tripJson
  })
  return {
    getStations: pageHandler(database, buffers, {
      ...getStationsPage,
      statementName: 'getStations',
      filterTypes: {},
      select: pageOf('stations', 'true'),
      json: stationJson
    }),

    getTrips: (request, reply) => trips(request, reply, request.query)
  } satisfies Partial<OperationHandlers>
}

function bookingHandlers(database: Database, buffers: ResponseBuffers) {
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
  const deletion = database.prepareSingleRow('deleteBooking', deleteBooking)

  return {
    getBookings: pageHandler(database, buffers, {
      ...getBookingsPage,
      statementName: 'getBookings',
      filterTypes: {},
      select: pageOf('bookings', 'true'),
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
  } satisfies Partial<OperationHandlers>
}

const createHandlers = (database: Database) =>
  ({
    createBooking: createHandler(database, {
      operationId: 'createBooking',
      status: 201,
      table: 'bookings',
      newId: 'gen_random_uuid()',
      bodyColumns: bookingInputColumns,
      errorsByConstraint: {
        bookings_trip_id_fkey: ({ body }) => notFound('trip', body.trip_id)
      },
      json: bookingJson
    }),

    createBookingPayment: createHandler(database, {
      operationId: 'createBookingPayment',
      status: 200,
      table: 'payments',
      newId: 'gen_random_uuid()',
      bodyColumns: bookingPaymentInputColumns,
      otherColumns: [
        {
          column: 'booking_id',
          type: 'uuid',
          value: ({ params }) => params.bookingId
        }
      ],
      errorsByConstraint: {
        payments_booking_id_fkey: ({ params }) =>
          notFound('booking', params.bookingId)
      },
      json: bookingPaymentJson
    })
  }) satisfies Partial<OperationHandlers>
