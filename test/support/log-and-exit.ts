// A process that logs more than a pipe holds, and exits immediately.
import { createLogger } from '../../src/framework/log.ts'

// As main.ts does, which also makes a pipe non-blocking.
process.stdout.on('error', () => {})

const log = createLogger('info', 'petcat_')
for (let count = 0; count < 3000; count++) log.info('x'.repeat(100))
process.exit()
