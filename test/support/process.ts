import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Test } from 'tap'
import { until } from './until.ts'

const root = path.resolve(import.meta.dirname, '../..')

interface Options {
  cwd?: string
  env?: NodeJS.ProcessEnv
}

/** The variables of this process that a child needs: none of the service. */
const inherited = ['PATH', 'HOME', 'TMPDIR', 'NODE_EXTRA_CA_CERTS']

function childEnvironment(variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = Object.entries(process.env)
  const kept = own.filter(([name]) => inherited.includes(name))
  return { ...Object.fromEntries(kept), ...variables }
}

/**
 * Runs a command in a separate process group, which is killed when the test
 * ends.
 */
export function spawnProcess(
  t: Test,
  command: string[],
  { cwd = root, env = {} }: Options = {}
) {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd,
    env: childEnvironment(env),
    detached: true
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })

  let hasEnded = false
  /** Resolves with the exit code, or the signal that ended the process. */
  const exited = once(child, 'close').then(([code, signal]) => {
    hasEnded = true
    return (code ?? signal) as number | string
  })
  t.teardown(() => {
    const isRunning = child.exitCode === null && child.signalCode === null
    if (isRunning) process.kill(-Number(child.pid), 'SIGKILL')
    return exited
  })

  /**
   * Resolves with the match when the output has the pattern; rejects when the
   * process ends without it.
   */
  const waitForOutput = (pattern: RegExp) =>
    until(() => {
      const match = pattern.exec(output)
      if (match === null && hasEnded)
        throw new Error(`ended without ${pattern}:\n${output}`)
      return match
    }, `the output has ${pattern}`)

  /** Sends SIGTERM, and resolves like `exited`. */
  const stop = () => {
    child.kill('SIGTERM')
    return exited
  }

  return { child, output: () => output, waitForOutput, exited, stop }
}

/** Runs a command to its end. */
export async function runToEnd(t: Test, command: string[], options?: Options) {
  const { exited, output } = spawnProcess(t, command, options)
  return { code: await exited, output: output() }
}

/** The command line that runs a TypeScript file. */
export const scriptArgv = (file: string): string[] => [
  process.execPath,
  path.join(root, 'tools/run-typescript.js'),
  file
]

/** The command line of a command that may run on the embedded PostgreSQL. */
export const commandArgv = (name: 'keys' | 'migrate'): string[] => [
  ...scriptArgv('tools/start/run-command.ts'),
  `src/commands/${name}.ts`
]

/** A free port, and no rate limit, which a fast machine would exceed. */
const defaults = { PORT: '0', MAX_REQUESTS_PER_MINUTE: '0' }

/** Runs a service, by default in an empty folder, as a deployment does. */
const starting =
  (file: string) =>
  (t: Test, env: Record<string, string>, cwd = t.testdir()) =>
    spawnProcess(t, scriptArgv(file), { cwd, env: { ...defaults, ...env } })

/** Starts the service as a process. */
export const spawnService = starting('src/main.ts')

/** The same by the launcher, as `npm start` does. */
export const spawnLauncher = starting('tools/start/main.ts')

/** Resolves with the URL of a service when it listens. */
export async function waitForUrl(service: ReturnType<typeof spawnProcess>) {
  const [, url = ''] = await service.waitForOutput(
    /Server listening at (http:\/\/127\.0\.0\.1:\d+)/
  )
  return url
}

/** What an API key looks like. */
export const apiKeyPattern = /petcat_[0-9a-f]{40}/
