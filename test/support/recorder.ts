import { Writable } from 'node:stream'
import { pino } from 'pino'

/** A logger that records its lines. */
export function recorder() {
  const lines: Record<string, unknown>[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>)
      done()
    }
  })

  return { lines, log: pino({ level: 'info' }, stream) }
}
