import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { apiKeyPrefix } from '../generated/names.ts'
import { readApiDocument } from '../src/framework/openapi/document.ts'
import { api } from '../src/handlers/index.ts'

const main = path.resolve(import.meta.dirname, '../src/main.ts')

const { basePath } = readApiDocument(api.openapi)

/** What the service prints when it listens. */
const welcome = new RegExp(`curl (\\S+) .*(${apiKeyPrefix}\\w+)'`)

/** Without rate limits, and with a log of errors only. */
const configuration = {
  PORT: '0',
  LOG_LEVEL: 'error',
  MAX_REQUESTS_PER_MINUTE: '0',
  MAX_REJECTED_KEYS_PER_MINUTE: '0'
}

/** A service as the README's first command starts it, with its own database. */
export class LiveService {
  /** The base URL of the paths in openapi.yaml, without a slash at the end. */
  baseUrl = ''
  /** A valid API key. */
  key = ''
  databaseUrl = ''
  // It has no `.env`.
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'petcat-live-'))
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  #output = ''

  constructor() {
    const options = ['--import', import.meta.resolve('tsx'), main]
    this.#child = spawn(process.execPath, options, {
      cwd: this.#folder,
      env: {
        ...configuration,
        PATH: process.env['PATH'],
        DATA_DIR: this.#folder
      },
      stdio: ['ignore', 'pipe', 'inherit']
    })
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      this.#output += chunk.toString()
    })
    this.#exited = once(this.#child, 'close')
  }

  /**
   * Resolves when it listens.
   *
   * @throws Error with its output when it ends before
   */
  async listens(): Promise<void> {
    let match: RegExpExecArray | null = null
    while (match === null) {
      if (this.#child.exitCode !== null)
        throw new Error(`The service did not start:\n${this.#output}`)
      await setTimeout(50)
      match = welcome.exec(this.#output)
    }

    const [, url = '', key = ''] = match
    this.baseUrl = new URL(url).origin + basePath
    this.key = key
    this.databaseUrl = this.#findDatabase()
  }

  /**
   * Stops the service as an operator would. Resolves with the errors that it
   * logged.
   */
  async stop(): Promise<string> {
    this.#child.kill('SIGTERM')
    await this.#exited
    rmSync(this.#folder, { recursive: true })
    const errors = this.#output.match(/^\{.*$/gm) ?? []
    return errors.join('\n')
  }

  #findDatabase(): string {
    const file = path.join(this.#folder, 'postgres/postmaster.pid')
    // The fifth line of this file of PostgreSQL is the folder of its socket.
    const socketFolder = readFileSync(file, 'utf8').split('\n')[4] ?? ''
    const host = encodeURIComponent(socketFolder)
    return `postgres://postgres@localhost/postgres?host=${host}`
  }
}

/** Starts the service on a free port. */
export async function startLiveService(): Promise<LiveService> {
  const service = new LiveService()
  await service.listens()
  return service
}
