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
export const pagesWithCommands = [
  'README.md',
  ...operationsPages,
  'docs/kubernetes.md'
]

/** Commands of a page, in a block of their own. */
export interface CommandBlock {
  /** The heading above it. */
  heading: string
  /** Its place among the blocks below this heading, from 0. */
  index: number
  commands: string
}

/** Headings, and blocks of code: their comments look like headings. */
const partPattern =
  /^#+ (?<heading>[^\n]+)$|^```(?<language>\w*)\n(?<code>.*?)^```$/gms

/**
 * Returns the blocks of shell commands of a page, in their order.
 *
 * @param page its path, such as docs/operations.md
 * @param root the folder of the clone
 */
export function commandBlocks(page: string, root = '.'): CommandBlock[] {
  const blocks: CommandBlock[] = []
  let heading = ''
  let index = 0
  const text = readFileSync(path.join(root, page), 'utf8')
  for (const { groups = {} } of text.matchAll(partPattern)) {
    if (groups['heading'] !== undefined) {
      heading = groups['heading']
      index = 0
    }
    if (groups['language'] === 'sh') {
      blocks.push({ heading, index, commands: groups['code'] ?? '' })
      index++
    }
  }
  return blocks
}

/**
 * Returns the commands of a block below a heading of the pages, the first is 0.
 *
 * @throws Error if no page has such a block
 */
export function documentedCommands(
  pages: string[],
  heading: string,
  index = 0,
  root = '.'
): string {
  const blocks = pages.flatMap((page) => commandBlocks(page, root))
  const found = blocks.find(
    (block) => block.heading === heading && block.index === index
  )
  if (found === undefined)
    throw new Error(`${pages.join(', ')}: no block ${heading} ${index}`)
  return found.commands
}

/** Blocks of code, which are not searched for code in sentences. */
const fencePattern = /^```.*?^```$/gms

const spanPattern = /`(?<code>[^`]+)`/g

/** Programs, and the functions of the incidents: api, db and logs. */
const programs =
  'api|command|crontab|curl|db|deploy/\\w+|docker|git|kubectl|logs|node|npm|npx|' +
  'openssl|patronictl|pg_\\w+|psql|rm|systemctl'

/** Variables, a program, its arguments. */
const commandPattern = new RegExp(`^([A-Z_]+=\\S+ )*(${programs})( |$)`)

/** Whether code is a command with an argument or a variable. */
const isCommand = (code: string): boolean =>
  code.includes(' ') && commandPattern.test(code)

/**
 * Returns the commands in the sentences and tables of a page, each once.
 *
 * @param page its path, such as docs/operations.md
 * @param root the folder of the clone
 */
export function inlineCommands(page: string, root = '.'): string[] {
  const text = readFileSync(path.join(root, page), 'utf8')
  const sentences = text.replace(fencePattern, '')
  const spans = [...sentences.matchAll(spanPattern)].map(
    ({ groups }) => groups?.['code']?.replace(/\s+/g, ' ') ?? ''
  )
  return [...new Set(spans.filter(isCommand))]
}

/**
 * Returns a command that must be in a sentence or table of a page.
 *
 * @throws Error if no page has it
 */
export function inlineCommand(command: string, root = '.'): string {
  const isOn = (page: string) => inlineCommands(page, root).includes(command)
  if (pagesWithCommands.some(isOn)) return command
  throw new Error(`no page has the command ${command}`)
}
