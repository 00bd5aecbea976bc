import type { Config } from './config.ts'
import { messageOf } from './log.ts'

/** What listens: an app of Fastify. */
interface Listener {
  listen: (address: { port: number; host: string }) => Promise<string>
}

type Address = Pick<Config, 'HOST' | 'PORT' | 'METRICS_PORT'>

/** An error of listen(), or of the look-up of a host name. */
interface ListenError extends Error {
  code?: string
  port?: number
  /** `getaddrinfo` if the look-up has failed, for any reason. */
  syscall?: string
}

/**
 * Listens on PORT and METRICS_PORT.
 *
 * @returns the URL of the service
 * @throws Error that names the variable when it cannot listen
 */
export function listen(app: Listener, config: Address): Promise<string> {
  const address = { port: config.PORT, host: config.HOST }
  return app.listen(address).catch((error: ListenError) => {
    throw new Error(describeListenError(error, config), { cause: error })
  })
}

/** Says which variable to change. */
function describeListenError(
  error: ListenError,
  { HOST, METRICS_PORT }: Address
): string {
  const { code, port, syscall } = error
  if (code === 'EADDRNOTAVAIL' || syscall === 'getaddrinfo') {
    return (
      `HOST must be an address of this machine, not ${HOST}: ` +
      messageOf(error)
    )
  }

  const variable = port === METRICS_PORT ? 'METRICS_PORT' : 'PORT'
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} is in use: set ${variable}`
    case 'EACCES':
      return `Port ${port} is reserved: set ${variable} to one above 1023`
    default:
      return `Cannot listen on ${HOST}: ${messageOf(error)}`
  }
}
