import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A program that ends with this process, however that ends. */
export interface Watched {
  /** Interrupts the program. */
  stop: () => void
  /** Resolves with the exit status when the program and all that it started have ended. */
  ended: Promise<number | null>
  hasEnded: () => boolean
  /** The end of what it wrote to stderr. */
  output: () => string
}

// The shell outlives us by a moment: when our end of its stdin closes, by SIGKILL too, it interrupts the program,
// again and again: one that has only begun to start ignores it.
const watchdog = `
  folder=$1; shift; exec 3<&0
  "$@" & program=$!
  (read -r _ <&3; while kill -INT $program; do sleep 0.1; done) 2>/dev/null & reader=$!
  wait $program; status=$?
  kill $reader; rm -rf "$folder"
  exit $status`

/**
 * Runs a program in a separate process group, so that Ctrl-C reaches us and not the program.
 *
 * @param remove folder to remove when the program has ended
 */
export function runWatched(command: string[], remove = ''): Watched {
  const child = spawn('sh', ['-c', watchdog, 'sh', remove, ...command], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], TZ: 'UTC' }
  })
  const stop = () => void child.stdin.end()
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000)))
  let hasEnded = false
  const ended = once(child, 'close').then(([status]) => {
    hasEnded = true
    return status as number | null
  })
  return { stop, ended, hasEnded: () => hasEnded, output: () => output.trim() }
}
