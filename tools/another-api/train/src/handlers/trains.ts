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
import type { Operations } from '../../generated/operations.ts'
import { insertOperation } from '../framework/creates/insert-operation.ts'
import { notFound } from '../framework/http/errors.ts'
import { pageOperation } from '../framework/lists/pages.ts'
import type { ResponseMemory } from '../framework/lists/response-memory.ts'
import { sendJson } from '../framework/openapi/handler.ts'
import type { Database } from '../framework/postgres/database.ts'
import { lockWaitIsLimited, sql } from '../framework/postgres/sql.ts'
import { rowReader } from '../framework/rows/row-reader.ts'

/** A page of the rows of a table that fit the filter. */
const pageOf = (table: string, filter: string) => sql`
  SELECT *
  FROM ${table}
  WHERE id > input.after
    AND ${filter}
  ORDER BY id
  LIMIT input.size + 1
`

const deleteBooking = sql`
  DELETE FROM bookings
  WHERE id = $1
    AND ${lockWaitIsLimited}
  RETURNING id
`

export const trainHandlers = (
  database: Database,
  memory: ResponseMemory
): Operations => ({
  ...timetableHandlers(database, memory),
  ...bookingHandlers(database, memory),
  ...createHandlers(database)
})

function timetableHandlers(database: Database, memory: ResponseMemory) {
  const stations = pageOperation(database, memory, {
    name: 'getStations',
    idType: 'uuid',
    filterTypes: {},
    select: pageOf('stations', 'true'),
    json: stationJson
  })
  const trips = pageOperation(database, memory, {
    name: 'getTrips',
    idType: 'uuid',
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
    getStations: (request, reply) => stations(request, reply, {}),

    getTrips: (request, reply) => trips(request, reply, request.query)
  } satisfies Partial<Operations>
}

function bookingHandlers(database: Database, memory: ResponseMemory) {
  const bookings = pageOperation(database, memory, {
    name: 'getBookings',
    idType: 'uuid',
    filterTypes: {},
    select: pageOf('bookings', 'true'),
    json: bookingJson
  })
  const readBooking = rowReader(database, {
    name: 'getBooking',
    inputTypes: { id: 'uuid' },
    select: sql`
      SELECT *
      FROM bookings
      WHERE bookings.id = input.id
    `,
    json: bookingJson
  })
  const deletion = database.prepare('deleteBooking', deleteBooking)

  return {
    getBookings: (request, reply) => bookings(request, reply, {}),

    getBooking: async (request, reply) => {
      const { bookingId: id } = request.params
      const booking = await readBooking({ id })
      if (booking === undefined) throw notFound('booking', id)
      return sendJson(reply, 200, booking)
    },

    deleteBooking: async (request, reply) => {
      const { bookingId: id } = request.params
      const deleted = await database.writeAlone({ ...deletion, values: [id] })
      if (deleted.length === 0) throw notFound('booking', id)
      return reply.code(204).send()
    }
  } satisfies Partial<Operations>
}

const createHandlers = (database: Database) =>
  ({
    createBooking: insertOperation(database, {
      operationId: 'createBooking',
      status: 201,
      table: 'bookings',
      id: 'gen_random_uuid()',
      columns: bookingInputColumns,
      violations: {
        bookings_trip_id_fkey: ({ body }) => notFound('trip', body.trip_id)
      },
      json: bookingJson
    }),

    createBookingPayment: insertOperation(database, {
      operationId: 'createBookingPayment',
      status: 200,
      table: 'payments',
      id: 'gen_random_uuid()',
      columns: bookingPaymentInputColumns,
      fromRequest: [
        {
          column: 'booking_id',
          type: 'uuid',
          value: ({ params }) => params.bookingId
        }
      ],
      violations: {
        payments_booking_id_fkey: ({ params }) =>
          notFound('booking', params.bookingId)
      },
      json: bookingPaymentJson
    })
  }) satisfies Partial<Operations>
