import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { messageOf } from '../message-of.ts'
import { prepareData } from './data-folder.ts'
import { embeddedPrograms } from './programs.ts'
import { withRemedy } from './reasons.ts'
import { findService, type Opener, type Server, startServer } from './server.ts'

export { embeddedPrograms, findService }

/** Attempts to start while another process uses the folder. */
const maxAttempts = 40

/** Milliseconds between two attempts. */
const attemptIntervalMs = 500

// PostgreSQL's words for a folder that another server uses, starts on, or used
// a moment ago. Other errors of the lock file do not pass by waiting.
const inUse =
  /lock file "postmaster\.pid" (already exists|is empty)|still in use/

/**
 * Starts PostgreSQL on the data in `directory`, which is created if it does not
 * exist. The server ends with this process, however that ends, and loses no
 * acknowledged commit. A command uses the server of a running service instead.
 * All other processes on the folder wait for each other.
 *
 * @param directory DATA_DIR
 * @returns `stop` shuts the server down, or leaves it to its service
 * @throws Error when another service runs on the folder, or PostgreSQL cannot
 *   run here; its message is one line with the remedy
 */
export async function startEmbeddedPostgres(
  directory: string,
  opener: Opener,
  log: Logger
): Promise<Server> {
  const commandOf = embeddedPrograms()
  const folder = path.resolve(directory)

  function attempt(number: number): Promise<Server> {
    return useOrStart(folder, opener, commandOf, log).catch(
      async (error: unknown) => {
        const mayWait = inUse.test(messageOf(error)) && number < maxAttempts
        if (!mayWait) throw withRemedy(error)

        log.info({ directory }, 'waiting for another process to leave DATA_DIR')
        await sleep(attemptIntervalMs)
        return attempt(number + 1)
      }
    )
  }

  return attempt(1)
}

async function useOrStart(
  folder: string,
  opener: Opener,
  commandOf: ReturnType<typeof embeddedPrograms>,
  log: Logger
): Promise<Server> {
  const service = await findService(folder)
  if (service === undefined) {
    const data = await prepareData(folder, commandOf('initdb'), log)
    return startServer([...commandOf('postgres'), '-D', data], opener)
  }

  const { url, pid } = service
  if (opener === 'service') {
    throw new Error(
      `already running from this folder (PID ${pid}): ` +
        'set DATA_DIR for a second one'
    )
  }

  return { url, stop: () => Promise.resolve(), crashed: new Promise(() => {}) }
}
