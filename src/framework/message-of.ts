/**
 * The message of an error. A failed connection to a host with several addresses
 * has no message, only a code.
 */
export function messageOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException
  return message || String(code)
}
