import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url))

export type LiveService = Awaited<ReturnType<typeof startLiveService>>

/**
 * Starts the service as the README's first command does: as a process with its own database, here on a free port and without
 * rate limits.
 *
 * @throws Error with its output when it ends before it listens
 */
export async function startLiveService() {
  const directory = mkdtempSync(path.join(tmpdir(), 'petcat-live-'))
  const limits = {
    LOG_LEVEL: 'error',
    MAX_REQUESTS_PER_MINUTE: '0',
    MAX_REJECTED_KEYS_PER_MINUTE: '0'
  }
  const child = spawn(
    process.execPath,
    ['--import', import.meta.resolve('tsx'), main],
    {
      // It has no `.env`.
      cwd: directory,
      env: {
        PATH: process.env['PATH'],
        PORT: '0',
        DATA_DIR: directory,
        ...limits
      },
      stdio: ['ignore', 'pipe', 'inherit']
    }
  )
  let output = ''
  const exited = once(child, 'close')
  const [, baseUrl = '', key = ''] = await new Promise<RegExpExecArray>(
    (resolve, reject) => {
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString()
        const welcome = /curl (\S+)\/categories .*(petcat_\w+)'/.exec(output)
        if (welcome !== null) resolve(welcome)
      })
      void exited.then(() =>
        reject(new Error(`the service did not start:\n${output}`))
      )
    }
  )
  // The fifth line of this file of PostgreSQL is the folder of its socket.
  const socket =
    readFileSync(path.join(directory, 'postgres/postmaster.pid'), 'utf8').split(
      '\n'
    )[4] ?? ''
  return {
    /** The base URL of the paths in openapi.yaml, without a slash at the end. */
    baseUrl,
    /** A valid API key. */
    key,
    databaseUrl: `postgres://postgres@localhost/postgres?host=${encodeURIComponent(socket)}`,
    /** Stops the service as an operator would. Resolves with the errors that it logged. */
    async stop(): Promise<string> {
      child.kill('SIGTERM')
      await exited
      rmSync(directory, { recursive: true })
      return (output.match(/^\{.*$/gm) ?? []).join('\n')
    }
  }
}
