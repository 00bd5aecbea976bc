import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { generate } from 'selfsigned'
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

/** A block of commands, or one command in a sentence or table. */
const documented =
  /^```sh\n(.*?)^```$|`([A-Z_]+=[^`]* deploy\/[^`]*|(?:api|crontab|curl|db|docker|kubectl|patronictl|systemctl) [^`]*)`/gms

/** The commands of a page, line by line. */
const commandsOf = (page: string): string[] =>
  [...page.matchAll(documented)].flatMap(([, block, command = '']) =>
    block ? block.trim().split('\n') : command.replaceAll(/\s+/g, ' ')
  )

/** Waits for what must come true by itself, and may fail meanwhile. */
export const eventually = (check: () => Promise<boolean>, what: string) =>
  until(() => check().catch(() => false), what)

/** Makes a self-signed certificate. */
export const certify = (
  host: string,
  validity: { notBeforeDate?: Date; notAfterDate?: Date } = {}
) =>
  generate([{ name: 'commonName', value: host }], {
    algorithm: 'sha256',
    extensions: [
      { name: 'subjectAltName', altNames: [{ type: 2, value: host }] }
    ],
    ...validity
  })

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
  /** The lines of the pages that have run. */
  readonly #ran = new Set<string>()

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
    this.#record(
      documentedCommands(this.#options.pages, heading, index, this.folder)
    )

  /** Returns a command that must be in a sentence or table of a page. */
  command = (command: string): string =>
    this.#record(inlineCommand(command, this.folder))

  #record(commands: string): string {
    for (const line of commands.split('\n')) this.#ran.add(line)
    return commands
  }

  /** The commands of a page that have yet to run, but those of README.md. */
  left = (
    page: string,
    isMeant: (command: string) => boolean = () => true
  ): string[] => {
    const excepted = this.read('tools/deploy-check/README.md')
    return commandsOf(this.read(page)).filter(
      (command) =>
        isMeant(command) &&
        !this.#ran.has(command) &&
        !excepted.includes(`\`${command}\``)
    )
  }

  /** Runs a block of commands below a heading of the pages. */
  documented = (heading: string, index = 0, variables: Variables = {}) =>
    this.sh(this.block(heading, index), variables)

  /** Runs a command that must be in a sentence or table of a page. */
  inline = (command: string, variables: Variables = {}) =>
    this.#withFunctions(this.command(command), variables)

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

  /**
   * Replaces a part of a file.
   *
   * @throws Error if the file has no such part
   */
  edit = (file: string, part: string | RegExp, by: string): void => {
    const before = this.read(file)
    const after = before.replace(part, () => by)
    if (after === before) throw new Error(`${file} has no ${part}`)
    this.write(file, after)
  }

  /** Creates an API key. */
  newKey = async () => lastLine(await this.documented('Install', 1))

  /** Lists the categories. Returns the status. */
  listStatus = (key = this.key) =>
    status(`${this.url}/v1/categories`, { authorization: `Bearer ${key}` })

  serves = async (key = this.key) => (await this.listStatus(key)) === 200

  /** Runs commands while clients create, see `underLoad`. */
  underLoad = (
    t: Test,
    commands: Commands,
    expected: string[] = [],
    url = this.url
  ) => underLoad(t, [{ url, key: this.key }], commands, expected)
}
