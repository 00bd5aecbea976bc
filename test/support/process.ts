import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { until } from './until.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Running {
  child: ChildProcess
  /** stdout and stderr so far. */
  output: () => string
  /** Resolves with the match when the output has the pattern; rejects when the process ends without it. */
  sees: (pattern: RegExp) => Promise<RegExpMatchArray>
  /** Resolves with the exit code, or the signal that ended the process. */
  exited: Promise<number | string>
}

/**
 * The environment of a child: that of the tests without variables of the service, and with `variables`. Coverage counts only
 * processes that load TypeScript as the tests do: another compiler moves its counts to wrong lines.
 */
function environment(command: string[], variables: Record<string, string>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => /^(PATH|HOME|TMPDIR|NODE_EXTRA_CA_CERTS)$/.test(name))
  const tap = Object.entries(process.env).filter(([name]) => /^(_TAPJS|TAP_|NODE_OPTIONS$)/.test(name))
  const isScript = command[0] === process.execPath
  const loader = isScript ? Object.fromEntries(tap) : { _TAPJS_PROCESSINFO_COVERAGE_: '0' }
  return { ...Object.fromEntries(kept), ...loader, ...variables }
}

/** Runs a command in a separate process group, which is killed when the test ends. `file` receives stdout and stderr. */
export function run(
  t: Test,
  command: string[],
  options: { cwd?: string; env?: Record<string, string>; file?: number } = {}
): Running {
  const { file = 'pipe' } = options
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd: options.cwd ?? root,
    env: environment(command, options.env ?? {}),
    detached: true,
    stdio: ['pipe', file, file]
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  let hasEnded = false
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
      process.kill(-child.pid, 'SIGKILL')
    await exited
  })
  void exited.then(() => (hasEnded = true))
  const sees = async (pattern: RegExp) => {
    await until(() => hasEnded || pattern.test(output), `the output has ${pattern}`)
    const match = pattern.exec(output)
    if (match === null) throw new Error(`ended without ${pattern}:\n${output}`)
    return match
  }
  return { child, output: () => output, sees, exited }
}

/** The command line that runs a TypeScript file as the tests run, with coverage. */
export const script = (file: string): string[] => [process.execPath, ...process.execArgv, path.join(root, file)]

/** Starts the service as a process in an empty folder, on a free port. Services of one test need a folder of the caller. */
export function serve(t: Test, env: Record<string, string>, directory = t.testdir()): Running {
  return run(t, script('src/main.ts'), { cwd: directory, env: { PORT: '0', ...env } })
}

/** Resolves with the URL of a service when it listens. */
export async function started(service: Running): Promise<string> {
  const [, url = ''] = await service.sees(/Server listening at (http:\/\/127\.0\.0\.1:\d+)/)
  return url
}

export const keyPattern = /petcat_[0-9a-f]{48}/

/** Creates a category. */
export const post = (url: string, key: string, name: string) =>
  fetch(`${url}/v1/categories`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name })
  })
