// A process that logs 3,000 numbered lines and exits at once.
import { createLogger } from '../../src/log.ts'

// As main.ts does, which also makes a pipe non-blocking.
process.stdout.on('error', () => {})

const logger = createLogger('info')
const padding = 'x'.repeat(100)
for (let number = 0; number < 3000; number++) logger.info({ number, padding })
process.exit()
