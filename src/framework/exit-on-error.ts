import { messageOf } from './message-of.ts'

/**
 * Returns a function that ends the process with exit code 1 and the error's
 * message on stderr.
 *
 * @param serviceName begins the line
 */
export const exitOnError =
  (serviceName: string) =>
  (error: unknown): never => {
    console.error(`${serviceName}: ${messageOf(error)}`)
    process.exit(1)
  }
