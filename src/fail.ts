/** An error in one line. A failed connection to a name with several addresses has no message, only a code. */
export function oneLine(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  return message || String(code)
}

/** Ends the process with exit code 1 and the error's message on stderr. */
export function fail(error: unknown): never {
  console.error(`pet-categories: ${oneLine(error)}`)
  process.exit(1)
}
