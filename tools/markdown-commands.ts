// The code of pages, and the shell that runs their commands.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

const runFile = promisify(execFile)

/** Returns the blocks of code in Markdown whose language matches a pattern. */
export function codeIn(text: string, language = 'sh'): string[] {
  const blocks = text.matchAll(
    new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms')
  )
  return Array.from(blocks, ([, code = '']) => code)
}

/** Returns the blocks of commands below a heading of a page. */
export function commandsBelow(page: string, heading: string): string[] {
  const [, section = ''] = readFileSync(page, 'utf8').split(`## ${heading}\n`)
  const [text = ''] = section.split('\n## ')
  return codeIn(text)
}

/** Returns what runs commands in a folder, and resolves with what they print. */
export const shellIn =
  (cwd: string, variables: NodeJS.ProcessEnv) =>
  async (
    commands = 'exit 1',
    more: NodeJS.ProcessEnv = {}
  ): Promise<string> => {
    // On Node.js 20, test/run-tests.ts lets tests load tsx, which `cwd` may lack.
    const NODE_OPTIONS = undefined
    const env = { ...process.env, NODE_OPTIONS, ...variables, ...more }
    const program = ['-euo', 'pipefail', '-c', commands]
    const running = runFile('bash', program, { cwd, env })
    running.child.stdin?.end()
    return (await running).stdout.trim()
  }
