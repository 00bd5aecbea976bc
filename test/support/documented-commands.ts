import { readFileSync } from 'node:fs'
import path from 'node:path'

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
 * Returns the commands of a block below a heading of a page, the first is 0.
 *
 * @throws Error if the page has no such block
 */
export function documentedCommands(
  page: string,
  heading: string,
  index = 0,
  root = '.'
): string {
  const found = commandBlocks(page, root).find(
    (block) => block.heading === heading && block.index === index
  )
  if (found === undefined)
    throw new Error(`${page} has no block ${heading} ${index}`)
  return found.commands
}
