import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import {
  documentedCommands,
  inlineCommand
} from '../../test/support/documented-commands.ts'
import { lastLine, status } from '../../test/support/installation.ts'
import { until } from '../../test/support/until.ts'
import { copyFiles } from '../copy-files.ts'
import { type Commands, underLoad } from './under-load.ts'

type Variables = Record<string, string>

interface Options {
  /** Where documented commands are looked up. */
  pages: string[]
  environment: Variables
  /** Which block below Incidents defines the functions of the runbook. */
  functions: number
  /** Runs psql as the superuser of the database. */
  psql: string
}

/** Waits for what must come true by itself, and may fail meanwhile. */
export const eventually = (check: () => Promise<boolean>, what: string) =>
  until(() => check().catch(() => false), what)

/**
 * An installation from a copy of a fresh clone, which is operated by the
 * commands of the pages in docs/.
 */
export class Installation {
  readonly folder = copyFiles()
  /** The address of the service. */
  url = ''
  /** The API key of the clients. */
  key = ''
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
    // As of somebody with a strict umask.
    execFileSync('chmod', ['-R', 'go-rwx', this.folder])
  }

  /**
   * Runs a shell command in the clone. Returns what it printed.
   *
   * @throws Error with its output if the command fails
   */
  sh = async (command: string, variables: Variables = {}): Promise<string> => {
    const child = spawn('bash', ['-euc', command], {
      cwd: this.folder,
      env: { ...process.env, ...this.#options.environment, ...variables },
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

  /** Returns a block of commands below a heading of the pages, from 0. */
  block = (heading: string, index = 0): string =>
    documentedCommands(this.#options.pages, heading, index, this.folder)

  /** Runs a block of commands below a heading of the pages. */
  documented = (heading: string, index = 0, variables: Variables = {}) =>
    this.sh(this.block(heading, index), variables)

  /** Runs a command that must be in a sentence or table of a page. */
  inline = (command: string, variables: Variables = {}) =>
    this.#withFunctions(inlineCommand(command, this.folder), variables)

  /** Runs a block of commands of an incident of the runbook. */
  incident = (name: string, index = 0, variables: Variables = {}) =>
    this.#withFunctions(this.block(`Incident: ${name}`, index), variables)

  #withFunctions = (commands: string, variables: Variables) =>
    this.sh(
      `${this.block('Incidents', this.#options.functions)}\n${commands}`,
      variables
    )

  /** Runs a statement as the superuser. */
  sql = (statement: string) =>
    this.sh(`${this.#options.psql} -Atc "${statement}"`)

  /** Returns the text of a file. */
  read = (file: string): string =>
    readFileSync(path.join(this.folder, file), 'utf8')

  /** Writes a new file, as git does. */
  write = (file: string, content: string): void => {
    const target = path.join(this.folder, file)
    rmSync(target, { force: true })
    writeFileSync(target, content)
  }

  /** Replaces parts of a file, a pattern with the flag g. */
  edit = (file: string, part: string | RegExp, by: string): void =>
    this.write(
      file,
      this.read(file).replaceAll(part, () => by)
    )

  /** Creates an API key. */
  newKey = async () => lastLine(await this.documented('Install', 1))

  /** Whether the service lists the categories for a key. */
  serves = async (key = this.key) => {
    const headers = { authorization: `Bearer ${key}` }
    return (await status(`${this.url}/v1/categories`, headers)) === 200
  }

  /** Runs commands while clients create, see `underLoad`. */
  underLoad = (t: Test, commands: Commands, expected: string[] = []) =>
    underLoad(t, [{ url: this.url, key: this.key }], commands, expected)
}

/**
 * Checks that a container of the service is not root, has no capabilities, and
 * cannot write to its file system.
 *
 * @param exec runs a command in the container, and returns its output
 * @param user the id of the user that it must have
 */
export async function isConfined(
  t: Test,
  exec: (command: string) => Promise<string>,
  user: string
): Promise<void> {
  t.equal(await exec('id -u'), user)
  await t.rejects(exec('touch /app/x'), /Read-only file system/)
  const limits = await exec('cat /proc/1/status')
  t.match(limits, /CapBnd:\t0+\n(.*\n)*NoNewPrivs:\t1/)
}
