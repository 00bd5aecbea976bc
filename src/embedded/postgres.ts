import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { messageOf } from '../log.ts'
import { prepareData } from './data-folder.ts'
import { embeddedPrograms } from './programs.ts'
import { withRemedy } from './reasons.ts'
import {
  findService,
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

/** The result of an attempt to start the server. */
type Attempt =
  { result: 'started'; server: Server } | { result: 'folder in use' }

/**
 * Starts PostgreSQL on the data in `directory`, which is created if it does not
 * exist. The server ends with this process, however that ends, and loses no
 * acknowledged commit. A command uses the server of a running service instead.
 * All other processes on the folder wait for each other.
 *
 * @param directory DATA_DIR
 * @param startedBy `service` or the name of a command
 * @returns `stop` shuts the server down, or leaves it to its service
 * @throws Error when another service runs on the folder, or PostgreSQL cannot
 *   run here; its message is one line with the remedy
 */
export async function startEmbeddedPostgres(
  directory: string,
  startedBy: string,
  log: Logger
): Promise<Server> {
  const folder = path.resolve(directory)
  let attempts = 1
  let attempt = await useOrStart(folder, startedBy, true, log)

  while (attempt.result === 'folder in use') {
    if (attempts === 1) log.info({ directory }, waiting)
    await sleep(attemptIntervalMs)

    attempts += 1
    const mayWait = attempts < maxAttempts
    attempt = await useOrStart(folder, startedBy, mayWait, log)
  }
  return attempt.server
}

async function useOrStart(
  directory: string,
  startedBy: string,
  mayWait: boolean,
  log: Logger
): Promise<Attempt> {
  const service = await findService(directory)
  if (service === undefined)
    return tryToStart(directory, startedBy, mayWait, log)

  return { result: 'started', server: useServerOf(service, startedBy) }
}

/** @throws Error when a service, which needs its own server, asks for it */
function useServerOf({ url, pid }: ServiceServer, startedBy: string): Server {
  if (startedBy !== 'service') return { url, stop: () => Promise.resolve() }

  throw new Error(
    `already running from this folder (PID ${pid}): ` +
      'set DATA_DIR for a second one'
  )
}

async function tryToStart(
  directory: string,
  startedBy: string,
  mayWait: boolean,
  log: Logger
): Promise<Attempt> {
  try {
    const commandOf = embeddedPrograms()
    const data = await prepareData(directory, commandOf('initdb'), log)
    const postgres = [...commandOf('postgres'), '-D', data]
    const server = await startServer(postgres, startedBy)
    return { result: 'started', server }
  } catch (error) {
    const isInUse = inUse.test(messageOf(error))
    if (isInUse && mayWait) return { result: 'folder in use' }
    throw withRemedy(error)
  }
}
