import path from 'node:path'
import type { Test } from 'tap'
import { call } from '../../test/support/process.ts'

/** What `npm ci` and pip have installed, and then the system. */
const PATH = [
  path.resolve('.venv/bin'),
  path.resolve('node_modules/.bin'),
  process.env['PATH']
].join(path.delimiter)

/** Runs commands, which must succeed. Returns their output. */
export async function sh(
  t: Test,
  commands: string,
  cwd: string,
  env: Record<string, string>
): Promise<string> {
  const options = { cwd, env: { PATH, ...env } }
  const { code, output } = await call(t, ['sh', '-ec', commands], options)
  t.equal(code, 0, output)
  return output
}
