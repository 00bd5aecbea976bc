import path from 'node:path'
import type { Logger } from 'pino'
import { messageOf } from '../message-of.ts'
import { reportWait, retry } from '../retry.ts'
import { dataFolderIn, prepareData } from './data-folder.ts'
import { embeddedPrograms } from './programs.ts'
import { findServer, type EmbeddedServer, startServer } from './server.ts'

/** Attempts to start while another process uses the folder. */
const maxAttempts = 20

// PostgreSQL's words for a folder that another server uses, starts on, or used
// a moment ago. Other errors of the lock file do not pass by waiting.
const inUsePattern =
  /lock file "postmaster\.pid" (already exists|is empty)|still in use/

/**
 * Starts PostgreSQL on the data in `directory`, which is created if it does not
 * exist. The server ends with this process, however that ends, and loses no
 * acknowledged commit. Processes on one folder wait for each other.
 *
 * @param directory DATA_DIR
 * @param mayShare whether the server of another process will do, as it does for
 *   a command while the service runs: it ends at the latest ten seconds after
 *   that process
 * @throws Error when another process keeps the folder, or PostgreSQL cannot run
 *   here; its message is one line with the remedy
 */
export async function startEmbeddedPostgres(
  directory: string,
  log: Logger,
  mayShare = false
): Promise<EmbeddedServer> {
  // node-postgres completes a URL by libpq's variables, which lead to the
  // developer's server.
  for (const name of Object.keys(process.env))
    if (name.startsWith('PG')) delete process.env[name]

  const folder = path.resolve(directory)
  const commandOf = embeddedPrograms(dataFolderIn(folder))

  async function shareOrStart(): Promise<EmbeddedServer> {
    const url = mayShare ? await findServer(folder) : undefined
    if (url !== undefined) return { url, stop: () => Promise.resolve() }

    const data = await prepareData(folder, commandOf('initdb'))
    return startServer([...commandOf('postgres'), '-D', data], data)
  }

  const started = retry(shareOrStart, {
    report: () => log.info({ directory }, 'waiting: DATA_DIR is in use'),
    isTemporary: (error) => inUsePattern.test(messageOf(error)),
    maxAttempts
  })

  return reportWait(`PostgreSQL in ${folder}`, started).catch((cause) => {
    throw new Error(
      `DATA_DIR cannot be used: ${messageOf(cause)}: ` +
        'correct this, or set DATA_DIR to another folder',
      { cause }
    )
  })
}
