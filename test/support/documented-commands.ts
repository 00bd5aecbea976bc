import { readFileSync } from 'node:fs'
import path from 'node:path'

/** The pages on running the service; the runbook holds on Kubernetes, too. */
export const operationsPages = [
  'docs/operations.md',
  'docs/runbook.md',
  'docs/recovery.md',
  'docs/monitoring.md'
]

/** The pages whose commands tests run. */
const pagesWithCommands = [
  'README.md',
  ...operationsPages,
  'docs/kubernetes.md'
]

/**
 * Returns the commands of a block below a heading of the pages, the first is 0.
 *
 * @param pages their paths, such as docs/operations.md
 * @param root the folder of the clone
 * @throws Error if no page has such a block
 */
export function documentedCommands(
  pages: string[],
  heading: string,
  index = 0,
  root = '.'
): string {
  for (const page of pages) {
    const text = readFileSync(path.join(root, page), 'utf8')
    const [, below = ''] = text.split(new RegExp(`^#+ ${heading}$`, 'm'))
    const [, commands] =
      [...below.matchAll(/^```sh\n(.*?)^```$/gms)][index] ?? []
    if (commands !== undefined) return commands
  }
  throw new Error(`${pages.join(', ')}: no block ${heading} ${index}`)
}

/**
 * Returns a command that must be in a sentence or table of a page.
 *
 * @throws Error if no page has it
 */
export function inlineCommand(command: string, root = '.'): string {
  const isOn = (page: string) =>
    readFileSync(path.join(root, page), 'utf8')
      .replace(/\s+/g, ' ')
      .includes(`\`${command}\``)
  if (pagesWithCommands.some(isOn)) return command
  throw new Error(`no page has the command ${command}`)
}
