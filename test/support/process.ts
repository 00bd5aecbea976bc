import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const root = fileURLToPath(new URL('../..', import.meta.url))

export interface Running {
  child: ChildProcess
  /** All that it wrote to stdout and stderr so far. */
  output: () => string
  /** Resolves with the match when the output has the pattern; rejects when the process ends without it. */
  sees: (pattern: RegExp) => Promise<RegExpMatchArray>
  /** Resolves with the exit code, or the signal that ended it. */
  exited: Promise<number | string>
}

/** The environment of a child: ours, without what would configure the service, and with `variables`. */
function environment(variables: Record<string, string>): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_OPTIONS, NODE_V8_COVERAGE } = process.env
  return { PATH, HOME, NODE_OPTIONS, NODE_V8_COVERAGE, ...variables }
}

/** Runs a command in a process group of its own, which is killed when the test ends. */
export function run(
  t: Test,
  [command = '', ...args]: string[],
  options: { cwd?: string; env?: Record<string, string> } = {}
): Running {
  const child = spawn(command, args, {
    cwd: options.cwd ?? root,
    env: environment(options.env ?? {}),
    detached: true
  })
  let output = ''
  const waiting = new Set<() => void>()
  const grow = (chunk: Buffer) => {
    output += chunk.toString()
    for (const look of waiting) look()
  }
  child.stdout.on('data', grow)
  child.stderr.on('data', grow)
  const exited = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  t.teardown(async () => {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined)
      process.kill(-child.pid, 'SIGKILL')
    await exited
  })
  const sees = (pattern: RegExp) =>
    new Promise<RegExpMatchArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(output)
        if (match === null) return
        waiting.delete(look)
        resolve(match)
      }
      waiting.add(look)
      look()
      void exited.then((code) => reject(new Error(`ended with ${code} without ${pattern}:\n${output}`)))
    })
  return { child, output: () => output, sees, exited }
}

/** The command line of a TypeScript file of ours, as the scripts of package.json have it. */
export const script = (file: string): string[] => [
  process.execPath,
  '--import',
  import.meta.resolve('tsx'),
  path.join(root, file)
]
