import { prepare, resultOf, type Stage } from './samples.ts'

/** A block of shell commands, with the block of text that may follow it. */
const shellBlocks = /^```sh\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm

/** The section with the clients, which check.ts generates and runs. */
export const generators = /^## Generators$[^]*?^## /m

/** What the samples of the guide have in place of the reader's own values. */
const placeholders = { baseUrl: 'http://127.0.0.1:3000/v1', key: 'petcat_…' }

const escapePattern = (text: string) =>
  text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/**
 * Runs the shell samples of the guide against the service behind the proxy, one
 * after the other in the same folder, with BASE_URL and API_KEY in the
 * environment. A `…` in their output stands for any text in a line.
 *
 * @param guide the text of docs/clients.md
 * @returns what is wrong
 */
export async function runGuide(guide: string, stage: Stage): Promise<string[]> {
  await prepare(stage)
  stage.proxy.reset()

  const problems: string[] = []
  for (const [, source = '', output] of guide
    .replace(generators, '')
    .matchAll(shellBlocks)) {
    const command = source
      .replace(placeholders.baseUrl, stage.proxy.baseUrl)
      .replace(placeholders.key, String(stage.env['API_KEY']))
    const { exitCode, stdout, stderr } = await resultOf(command, stage)

    const parts = output?.trimEnd().split('…').map(escapePattern)
    const expected = parts && new RegExp(`^${parts.join('.*')}\\n?$`)
    if (exitCode !== 0 || expected?.test(stdout) === false)
      problems.push(`docs/clients.md: ${source}prints:\n${stdout}${stderr}`)
  }

  return problems
}
