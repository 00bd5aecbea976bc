/** Ends the process with exit code 1 and the error's message on stderr. */
export function fail(error: unknown): never {
  const { message, code, cause } = error as NodeJS.ErrnoException
  // A refused connection to a name with several addresses has no message, only a code.
  console.error(`pet-categories: ${message || code || String(error)}`)
  if (cause !== undefined && process.env['LOG_LEVEL'] === 'debug') console.error(cause)
  process.exit(1)
}
