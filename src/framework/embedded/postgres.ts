import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { messageOf } from '../log.ts'
import { prepareData } from './data-folder.ts'
import { embeddedPrograms } from './programs.ts'
import { withRemedy } from './reasons.ts'
import {
  findService,
  type Opener,
  type Server,
  type ServiceServer,
  startServer
} from './server.ts'

export { embeddedPrograms, findService }

/** Attempts to start while another process uses the folder. */
const maxAttempts = 200

/** Milliseconds between two attempts. */
const attemptIntervalMs = 100

// PostgreSQL's words for a folder that another server uses, starts on, or used
// a moment ago. Other errors of the lock file do not pass by waiting.
const inUse =
  /lock file "postmaster\.pid" (already exists|is empty)|still in use/

const waiting = 'waiting for another process to leave DATA_DIR'

/** The result of an attempt to start the server, or to use a running one. */
type Attempt =
  { result: 'available'; server: Server } | { result: 'folder in use' }

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
  const folder = path.resolve(directory)
  let count = 0

  for (;;) {
    count++
    const mayWait = count < maxAttempts
    const attempt = await useOrStart(folder, opener, mayWait, log)
    if (attempt.result !== 'folder in use') return attempt.server

    if (count === 1) log.info({ directory }, waiting)
    await sleep(attemptIntervalMs)
  }
}

async function useOrStart(
  directory: string,
  opener: Opener,
  mayWait: boolean,
  log: Logger
): Promise<Attempt> {
  const service = await findService(directory)
  if (service === undefined) return tryToStart(directory, opener, mayWait, log)
  return { result: 'available', server: useServerOf(service, opener) }
}

/** @throws Error when a service, which needs its own server, asks for it */
function useServerOf({ url, pid }: ServiceServer, opener: Opener): Server {
  if (opener !== 'service') return { url, stop: () => Promise.resolve() }

  throw new Error(
    `already running from this folder (PID ${pid}): ` +
      'set DATA_DIR for a second one'
  )
}

async function tryToStart(
  directory: string,
  opener: Opener,
  mayWait: boolean,
  log: Logger
): Promise<Attempt> {
  try {
    const commandOf = embeddedPrograms()
    const data = await prepareData(directory, commandOf('initdb'), log)
    const postgres = [...commandOf('postgres'), '-D', data]
    const server = await startServer(postgres, opener)
    return { result: 'available', server }
  } catch (error) {
    const isInUse = inUse.test(messageOf(error))
    if (isInUse && mayWait) return { result: 'folder in use' }
    throw withRemedy(error)
  }
}
