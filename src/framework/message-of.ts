/**
 * The message of anything that was thrown. A failed connection to a host with
 * several addresses has no message, only a code.
 */
export function messageOf(error: unknown): string {
  const { message, code }: Partial<NodeJS.ErrnoException> = error ?? {}
  return message || String(code ?? error)
}
