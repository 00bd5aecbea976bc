import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Test } from 'tap'
import { until } from './until.ts'

const root = path.resolve(import.meta.dirname, '../..')

/** A process that `run` has started. */
type Running = ReturnType<typeof run>

interface Options {
  cwd?: string
  env?: NodeJS.ProcessEnv
}

/** The variables of this process whose names match. */
function variablesNamed(names: RegExp): NodeJS.ProcessEnv {
  const all = Object.entries(process.env)
  return Object.fromEntries(all.filter(([name]) => names.test(name)))
}

/**
 * The environment of a child: that of the tests without variables of the
 * service, and with `variables`. Coverage counts only processes that load
 * TypeScript as the tests do: another compiler moves its counts to wrong lines.
 * Other processes do without the loader of the tests: to tap, which restores
 * NODE_OPTIONS, the space is a value.
 */
function environment(
  command: string[],
  variables: NodeJS.ProcessEnv
): NodeJS.ProcessEnv {
  const isScript = command.includes(process.execPath)
  const loader = isScript
    ? variablesNamed(/^(_TAPJS|TAP_|NODE_OPTIONS$)/)
    : { _TAPJS_PROCESSINFO_COVERAGE_: '0', NODE_OPTIONS: ' ' }

  return {
    ...variablesNamed(/^(PATH|HOME|TMPDIR|NODE_EXTRA_CA_CERTS)$/),
    ...loader,
    ...variables
  }
}

/**
 * Runs a command in a separate process group, which is killed when the test
 * ends.
 */
export function run(
  t: Test,
  command: string[],
  { cwd = root, env = {} }: Options = {}
) {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd,
    env: environment(command, env),
    detached: true
  })
  let output = ''
  let stdout = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (stream === child.stdout) stdout += chunk.toString()
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
  const sees = (pattern: RegExp) =>
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

  return {
    child,
    output: () => output,
    stdout: () => stdout,
    sees,
    exited,
    stop
  }
}

/** Runs a command to its end. */
export async function call(t: Test, command: string[], options?: Options) {
  const { exited, output } = run(t, command, options)
  return { code: await exited, output: output() }
}

/**
 * The command line that runs a TypeScript file as the tests run, with coverage.
 * Without tap's mocks, it starts in 0.55 s instead of 0.75 s.
 */
export const script = (file: string): string[] => [
  process.execPath,
  ...process.execArgv.filter((option) => !option.includes('@tapjs/mock')),
  path.join(root, file)
]

/**
 * Starts the service as a process in an empty folder, on a free port and
 * without a rate limit, which a fast machine would exceed. A test that starts
 * several services passes a folder for each.
 */
export function serve(
  t: Test,
  env: Record<string, string>,
  cwd = t.testdir()
): Running {
  return run(t, script('src/main.ts'), {
    cwd,
    env: { PORT: '0', MAX_REQUESTS_PER_MINUTE: '0', ...env }
  })
}

/** Resolves with the URL of a service when it listens. */
export async function started(service: Running): Promise<string> {
  const [, url = ''] = await service.sees(
    /Server listening at (http:\/\/127\.0\.0\.1:\d+)/
  )
  return url
}

/** What an API key looks like, whatever its prefix. */
export const keyPattern = /[a-z]+_[0-9a-f]{48}/

/** Milliseconds for a response: more than the service may take. */
const responseTimeoutMs = 60_000

/** Creates a category, or what the resource has. */
export const postNamed = (
  url: string,
  key: string,
  name: string,
  resource = 'categories',
  headers = {}
) =>
  fetch(`${url}/v1/${resource}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      ...headers
    },
    body: JSON.stringify({ name }),
    // A node that is lost does not close its connections.
    signal: AbortSignal.timeout(responseTimeoutMs)
  })
