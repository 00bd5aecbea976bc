import { spawn } from 'node:child_process'
import { once } from 'node:events'

// The shell outlives us briefly: when our end of its stdin closes, also by SIGKILL, it interrupts the program repeatedly,
// because a program that is only starting ignores the signal.
const watchdog = `
  folder=$1; shift; exec 3<&0
  "$@" & program=$!
  (read -r _ <&3; while kill -INT $program; do sleep 0.1; done) 2>/dev/null & reader=$!
  wait $program; status=$?
  kill $reader; rm -rf "$folder"
  exit $status`

/**
 * Runs a program that ends with this process, however that ends. Its process group is separate, so Ctrl-C does not reach it.
 *
 * @param remove folder to remove when the program has ended
 */
export function runWatched(command: string[], remove = '') {
  const child = spawn('sh', ['-c', watchdog, 'sh', remove, ...command], {
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], TZ: 'UTC' }
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4000)))
  return {
    /** Resolves with the exit status when the program and its children have ended. */
    ended: once(child, 'close').then(([status]) => status as number | null),
    /** Interrupts the program. */
    stop: () => void child.stdin.end(),
    /** The end of its stderr. */
    output: () => output.trim()
  }
}
