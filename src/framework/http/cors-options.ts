import type { FastifyCorsOptions } from '@fastify/cors'

/** Pages of these origins may send every request and read every header. */
export const corsOptions = (origins: string): FastifyCorsOptions => ({
  origin: origins.split(','),
  methods: '*',
  exposedHeaders: '*',
  // Seconds, the maximum in browsers.
  maxAge: 7200,
  // Otherwise an OPTIONS request that is not a preflight gets a 400 without an
  // Error body.
  strictPreflight: false
})
