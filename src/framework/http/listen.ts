import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import { messageOf } from '../message-of.ts'

/**
 * Listens on HOST and a port.
 *
 * @param portName the variable of the port
 * @returns the URL
 * @throws Error that says what Node.js rejects, and which variables to set
 */
export function listen(
  app: FastifyInstance,
  { HOST: host }: Pick<Config, 'HOST'>,
  port: number,
  portName: 'PORT' | 'METRICS_PORT'
): Promise<string> {
  return app.listen({ port, host }).catch((error: unknown) => {
    throw new Error(`${messageOf(error)}: set HOST or ${portName}`, {
      cause: error
    })
  })
}
