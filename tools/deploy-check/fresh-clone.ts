import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import {
  documentedCommands,
  inlineCommand
} from '../../test/support/documented-commands.ts'

const root = path.resolve(import.meta.dirname, '../..')

type Variables = Record<string, string>

/** Copies the files that a fresh clone has. Returns their new folder. */
function copyFiles(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-'))
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8'
  })
  for (const file of files.trim().split('\n'))
    cpSync(path.join(root, file), path.join(folder, file))
  return folder
}

/** A copy of what a fresh clone has, to run the commands of pages in docs/. */
export class FreshClone {
  readonly folder = copyFiles()
  readonly #pages: string[]
  readonly #environment: NodeJS.ProcessEnv

  constructor(pages: string[], environment: NodeJS.ProcessEnv) {
    this.#pages = pages
    this.#environment = environment
  }

  /**
   * Runs a shell command in the clone. Returns what it printed.
   *
   * @throws Error with its output if the command fails
   */
  sh = async (command: string, more: Variables = {}): Promise<string> => {
    const child = spawn('bash', ['-euc', command], {
      cwd: this.folder,
      env: { ...this.#environment, ...more },
      stdio: ['ignore', 'pipe', 'pipe']
    })
    const [output, errors] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close')
    ])
    if (child.exitCode !== 0) {
      throw new Error(
        `${command}\nended with ${child.exitCode}:\n${output}${errors}`
      )
    }
    return output.trim()
  }

  /** Runs a block of commands below a heading of the pages, the first is 0. */
  documented = async (
    heading: string,
    block = 0,
    more: Variables = {}
  ): Promise<string> => {
    return this.sh(this.block(heading, block), more)
  }

  /**
   * Returns a block of commands below a heading of the pages, the first is 0.
   *
   * @throws Error if no page has such a block
   */
  block(heading: string, block = 0, pages = this.#pages): string {
    return documentedCommands(pages, heading, block, this.folder)
  }

  /**
   * Returns a command that must be in a sentence or table of a page.
   *
   * @throws Error if no page has it
   */
  inlineCommand(command: string): string {
    return inlineCommand(command, this.folder)
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }
}
