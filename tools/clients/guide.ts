import { mkdirSync, rmSync } from 'node:fs'
import { type Result, resultOf, type Stage } from './samples.ts'

/** A sample for the shell, and what it prints. */
interface Sample {
  source: string
  /** A `…` stands for any text in a line. Undefined: the guide does not say. */
  output: string | undefined
}

/** A block of shell commands, with the block of text that may follow it. */
const shellBlocks = /^```sh\n([^]*?)^```\n(?:\n```text\n([^]*?)^```\n)?/gm

/** The commands of generators: check.ts runs each client. */
const generators = /<!-- clients -->[^]*<!-- end of clients -->/

/** What the samples of the guide have in place of the reader's own values. */
const placeholders = { baseUrl: 'http://127.0.0.1:3000/v1', key: 'petcat_…' }

/**
 * Runs the shell samples of the guide against the service behind the proxy, one
 * after the other in the same folder, with BASE_URL and API_KEY in the
 * environment.
 *
 * @param guide the text of docs/clients.md
 * @returns what is wrong
 */
export async function runGuide(guide: string, stage: Stage): Promise<string[]> {
  const samples = samplesOf(guide)
  if (!samples.some(({ output }) => output !== undefined))
    return ['docs/clients.md has no shell samples with their output']

  // Without the copies that an earlier run has downloaded.
  rmSync(stage.folder, { recursive: true, force: true })
  mkdirSync(stage.folder, { recursive: true })
  await stage.restore()
  stage.proxy.reset()

  const problems: string[] = []
  for (const sample of samples) {
    const result = await runSample(sample, stage)
    if (isExpected(result, sample)) continue

    const printed = result.stdout + result.stderr
    problems.push(`docs/clients.md: ${sample.source}prints:\n${printed}`)
  }

  return problems
}

const samplesOf = (guide: string): Sample[] =>
  [...guide.replace(generators, '').matchAll(shellBlocks)].map(
    ([, source = '', output]) => ({ source, output })
  )

function runSample(
  { source }: Sample,
  { folder, proxy, env }: Stage
): Promise<Result> {
  const command = source
    .replace(placeholders.baseUrl, proxy.baseUrl)
    .replace(placeholders.key, String(env['API_KEY']))
  return resultOf(command, { cwd: folder, env })
}

function isExpected({ exitCode, stdout }: Result, { output }: Sample): boolean {
  if (exitCode !== 0) return false
  if (output === undefined) return true
  const parts = output.trimEnd().split('…').map(escapePattern)
  return new RegExp(`^${parts.join('.*')}\\n?$`).test(stdout)
}

const escapePattern = (text: string) =>
  text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
