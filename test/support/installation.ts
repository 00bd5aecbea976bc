import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { Load } from './load.ts'

const root = path.resolve(import.meta.dirname, '../..')

/** Copies what a fresh clone has, to run the commands of a page in docs/ there with these environment variables. */
export function freshClone(page: string, environment: NodeJS.ProcessEnv) {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-'))
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8'
  })
  for (const file of files.trim().split('\n'))
    cpSync(path.join(root, file), path.join(folder, file))
  const commands = readFileSync(path.join(folder, page), 'utf8')

  /** Runs a shell command and returns what it printed; fails when the command does. */
  async function sh(
    command: string,
    more: Record<string, string> = {}
  ): Promise<string> {
    const child = spawn('bash', ['-euc', command], {
      cwd: folder,
      env: { ...environment, ...more },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    const [output, errors] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close')
    ])
    if (child.exitCode !== 0)
      throw new Error(
        `${command}\nended with ${child.exitCode}:\n${output}${errors}`
      )
    return output.trim()
  }

  /** Runs a block of commands below a heading of the page. */
  function documented(
    heading: string,
    block = 0,
    more: Record<string, string> = {}
  ): Promise<string> {
    const [, section = ''] = commands.split(new RegExp(`^#+ ${heading}$`, 'm'))
    const blocks = [
      ...(section.split(/^#/m)[0] ?? '').matchAll(/^```sh\n(.*?)^```$/gms)
    ].map(([, code = '']) => code)
    const code = blocks[block]
    if (code === undefined)
      throw new Error(`${page} has no block ${heading} ${block}`)
    return sh(code, more)
  }

  return {
    folder,
    sh,
    documented,
    remove: () => rmSync(folder, { recursive: true })
  }
}

/** Returns the status of a GET request. */
export async function status(
  url: string,
  headers: Record<string, string> = {}
): Promise<number> {
  const response = await fetch(url, { headers })
  await response.arrayBuffer()
  return response.status
}

/** Returns the names of the categories that the service at `url` lists. */
export async function listed(url: string, key: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/categories`, {
    headers: { authorization: `Bearer ${key}` }
  })
  return ((await response.json()) as { name: string }[]).map(({ name }) => name)
}

/** Returns the names that are not listed exactly once. */
export function notOnce(names: string[], list: string[]): string[] {
  const counts = new Map<string, number>()
  for (const name of list) counts.set(name, (counts.get(name) ?? 0) + 1)
  return names.filter((name) => counts.get(name) !== 1)
}

/** Returns the last line of an output. */
export const lastLine = (output: string) => output.split('\n').at(-1) ?? ''

/** Returns the errors of a load without responses, and the kinds of its responses: `[[], ['201']]` if nothing failed. */
export const unfailing = (load: Load) => [
  load.lost,
  Object.keys(load.responses)
]
