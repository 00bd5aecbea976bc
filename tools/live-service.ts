import { spawn } from 'node:child_process'
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

/** The URL of the embedded PostgreSQL in this folder. */
function databaseIn(folder: string): string {
  const file = path.join(folder, 'postgres/postmaster.pid')
  // The fifth line of this file of PostgreSQL is the folder of its socket.
  const socketFolder = readFileSync(file, 'utf8').split('\n')[4] ?? ''
  const host = encodeURIComponent(socketFolder)
  return `postgres://postgres@localhost/postgres?host=${host}`
}

/**
 * Starts the service on a free port, as the README's first command does, with
 * its own database.
 *
 * @returns the base URL of the paths in openapi.yaml, without a slash at the
 *   end; a valid API key; and what stops it, as an operator would, and resolves
 *   with the errors that it logged
 * @throws Error with its output when it ends before it listens
 */
export async function startLiveService() {
  // It has no `.env`.
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-live-'))
  const options = ['--import', import.meta.resolve('tsx'), main]
  const child = spawn(process.execPath, options, {
    cwd: folder,
    env: { ...configuration, PATH: process.env['PATH'], DATA_DIR: folder },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  const exited = once(child, 'close')
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })

  while (!welcome.test(output)) {
    if (child.exitCode !== null)
      throw new Error(`The service did not start:\n${output}`)
    await setTimeout(50)
  }
  const [, url = '', key = ''] = welcome.exec(output) ?? []

  return {
    baseUrl: new URL(url).origin + basePath,
    key,
    databaseUrl: databaseIn(folder),
    async stop(): Promise<string> {
      child.kill('SIGTERM')
      await exited
      rmSync(folder, { recursive: true })
      return (output.match(/^\{.*$/gm) ?? []).join('\n')
    }
  }
}
