import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { findService } from '../../src/postgres/embedded/running.ts'

/** The service of the working tree as a process of its own, on a database of its own. */
export interface LiveService {
  /** What the paths of openapi.yaml are relative to, without a slash at the end. */
  baseUrl: string
  /** A key that the service accepts. */
  key: string
  /** The address of its Postgres. */
  databaseUrl: string
  /** Ends it as an operator would, and gives what it logged of its own faults. */
  stop: () => Promise<string>
}

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/**
 * Starts the service as the README's first command does, on a free port and without limits on how often it is asked.
 *
 * @throws Error with its output, when it ends before it listens
 */
export async function startLiveService(): Promise<LiveService> {
  // Also its working directory, where it looks for a `.env`.
  const directory = mkdtempSync(path.join(tmpdir(), 'petcat-live-'))
  const child = spawn(process.execPath, ['--import', import.meta.resolve('tsx'), main], {
    cwd: directory,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      DATA_DIR: directory,
      LOG_LEVEL: 'error',
      RATE_LIMIT_MAX: '0',
      AUTH_FAILURES_MAX: '0'
    },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  let output = ''
  const exited = once(child, 'close')
  const listening = new Promise<RegExpExecArray>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      const welcome = /curl (\S+)\/categories -H 'Authorization: Bearer (petcat_\w+)'/.exec(output)
      if (welcome !== null) resolve(welcome)
    })
    void exited.then(() => reject(new Error(`the service did not start:\n${output}`)))
  })
  const [, baseUrl = '', key = ''] = await listening
  const databaseUrl = (await findService(directory))?.url
  if (databaseUrl === undefined) throw new Error(`there is no Postgres in ${directory}`)
  return {
    baseUrl,
    key,
    databaseUrl,
    async stop() {
      child.kill('SIGTERM')
      await exited
      rmSync(directory, { recursive: true })
      return output
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .join('\n')
    }
  }
}
