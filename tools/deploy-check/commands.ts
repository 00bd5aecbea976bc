// The commands of pages, and the shell that runs them.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

const runFile = promisify(execFile)

/** Returns the blocks of commands below a heading of a page. */
export function commandsBelow(page: string, heading: string): string[] {
  const [, section = ''] = readFileSync(page, 'utf8').split(`## ${heading}\n`)
  const [text = ''] = section.split('\n## ')
  return Array.from(
    text.matchAll(/^```sh\n(.*?)^```$/gms),
    ([, block = '']) => block
  )
}

/** Returns what runs commands in a folder, and resolves with what they print. */
export const shellIn =
  (cwd: string, variables: NodeJS.ProcessEnv) =>
  async (
    commands = 'exit 1',
    more: NodeJS.ProcessEnv = {}
  ): Promise<string> => {
    const options = { cwd, env: { ...variables, ...more } }
    const program = ['-euo', 'pipefail', '-c', commands]
    const running = runFile('bash', program, options)
    running.child.stdin?.end()
    return (await running).stdout.trim()
  }
