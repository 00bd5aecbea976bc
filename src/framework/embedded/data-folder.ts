import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../message-of.ts'
import { giveToUnusedUser, programEnvironment, reasonIn } from './programs.ts'

/** The prefix of the folders in which initdb works. */
const initdbFolderPrefix = 'initdb-'

/** initdb takes two seconds. */
const options = { env: programEnvironment, timeout: 300_000 }

const initdbOptions = [
  '--username=postgres',
  '--auth=trust',
  '--encoding=UTF8',
  '--locale=C',
  '--no-instructions'
]

/** The folder of PostgreSQL's data in DATA_DIR. */
export const dataFolderIn = (directory: string): string =>
  path.join(directory, 'postgres')

/**
 * Creates PostgreSQL's data in `directory` if they do not exist. Removes the
 * remains of first starts that were interrupted.
 *
 * @param initdb the command that runs initdb
 * @returns the folder of the data
 */
export async function prepareData(
  directory: string,
  initdb: string[]
): Promise<string> {
  const data = dataFolderIn(directory)
  mkdirSync(directory, { recursive: true })
  if (!existsSync(data)) await createData(directory, initdb)
  // Root has copied them.
  if (statSync(data).uid === 0) giveToUnusedUser(data)

  for (const name of readdirSync(directory)) {
    const folder = path.join(directory, name)
    if (name.startsWith(initdbFolderPrefix))
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }

  return data
}

/**
 * Creates the data under a temporary name and renames it when it is complete:
 * the data of an interrupted start is never used.
 */
async function createData(directory: string, initdb: string[]): Promise<void> {
  const data = dataFolderIn(directory)
  const fresh = dataFolderIn(
    mkdtempSync(path.join(directory, initdbFolderPrefix))
  )
  const [program = '', ...args] = [...initdb, '-D', fresh, ...initdbOptions]

  try {
    await promisify(execFile)(program, args, options)
    giveToUnusedUser(fresh)
    renameSync(fresh, data)
    // Otherwise, a crash of the machine could undo this, and lose all data.
    await promisify(execFile)('sync', [directory], options)
  } catch (error) {
    // Another process may have been faster.
    if (existsSync(data)) return
    const reason = reasonIn(messageOf(error))
    throw new Error(`initdb failed: ${reason}`, { cause: error })
  }
}
