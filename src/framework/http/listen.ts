import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { messageOf } from '../message-of.ts'

/**
 * Listens on HOST and the port of a variable.
 *
 * @returns the URL
 * @throws Error that says what Node.js rejects, and which variables to set
 */
export const listen = (
  app: FastifyInstance,
  config: Config,
  variable: 'PORT' | 'METRICS_PORT'
): Promise<string> =>
  app
    .listen({ host: config.HOST, port: Number(config[variable]) })
    .catch((cause: unknown) => {
      const message = `${messageOf(cause)}: set HOST or ${variable}`
      throw new Error(message, { cause })
    })
