import { createServer } from 'node:http'
import path from 'node:path'
import type { Test } from 'tap'
import { listenOnLoopback } from '../../test/support/loopback.ts'
import { call } from '../../test/support/process.ts'

/** What pip has installed, and then what npm has, and the system. */
const PATH = `${path.resolve('.venv/bin')}:${process.env['PATH']}`

/** Runs commands, which must succeed. Returns their output. */
export async function sh(
  t: Test,
  commands: string,
  cwd: string,
  env: Record<string, string>
): Promise<string> {
  const options = { cwd, env: { PATH, ...env } }
  const { code, output } = await call(t, ['sh', '-ec', commands], options)
  if (code !== 0) throw new Error(output)
  return output
}

/**
 * Starts the service of a later version, whose new category has one more
 * property. Returns its URL.
 */
export async function laterVersion(t: Test): Promise<string> {
  const created = { id: 7, name: 'Rabbit', addedLater: 'x' }
  const server = createServer((_request, response) => {
    response.writeHead(201, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(created))
  })
  return `http://127.0.0.1:${await listenOnLoopback(t, server)}`
}
