// A process that logs 3,000 numbered lines and exits immediately.
import { writeSync } from 'node:fs'
import { createLogger } from '../../src/framework/log.ts'

// As main.ts does, which also makes a pipe non-blocking.
process.stdout.on('error', () => {})

// Before the handler of the log, which waits for the reader.
process.on('exit', () => writeSync(process.stderr.fd, 'exiting'))

const log = createLogger('info', 'petcat_')
const padding = 'x'.repeat(100)
for (let number = 0; number < 3000; number++) log.info({ number, padding })
process.exit()
