import type { Test } from 'tap'

/**
 * Checks that a container of the service is not root, has no capabilities, and
 * cannot write to its file system.
 *
 * @param exec runs a command in the container, and returns its output
 * @param user the id of the user that it must have
 */
export async function isConfined(
  t: Test,
  exec: (command: string) => Promise<string>,
  user: string
): Promise<void> {
  t.equal(await exec('id -u'), user)
  await t.rejects(exec('touch /app/x'), /Read-only file system/)
  const status = await exec('cat /proc/1/status')
  t.match(status, /CapBnd:\t0+\n(.*\n)*NoNewPrivs:\t1/)
}
