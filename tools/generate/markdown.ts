// The parts of Markdown pages that the generators write.
import { format } from 'prettier'

/** A table; `npx prettier` aligns it. */
export function tableOf(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '-'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

/**
 * A page with this Markdown between the comments `<!-- NAME: … -->` and
 * `<!-- end of NAME -->`.
 */
export async function withSection(page: string, name: string, content: string) {
  const section = new RegExp(
    `(<!-- ${name}: .* -->\n)[^]*?(<!-- end of ${name} -->)`
  )
  const text = await format(content, { parser: 'markdown' })

  return page.replace(
    section,
    (_all, start: string, end: string) => `${start}\n${text}\n${end}`
  )
}
