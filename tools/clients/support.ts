import { createServer } from 'node:http'
import path from 'node:path'
import type { Test } from 'tap'
import { listenOnLoopback } from '../../test/support/loopback.ts'
import { shellIn } from '../markdown-commands.ts'

/** Returns a shell in a folder, which finds the programs that pip has installed. */
export const venvShellIn = (cwd: string, variables: NodeJS.ProcessEnv) =>
  shellIn(cwd, {
    PATH: `${path.resolve('.venv/bin')}:${process.env['PATH']}`,
    ...variables
  })

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
