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
import type { Logger } from 'pino'
import { messageOf } from '../message-of.ts'
import { programEnvironment } from './programs.ts'
import { reasonIn } from './reasons.ts'

/** The prefix of the folders in which initdb works. */
const unfinished = 'initdb-'

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
 * Returns the folder of PostgreSQL's data in `directory`, and creates both if
 * they do not exist. Removes the remains of first starts that were interrupted.
 *
 * @param initdb the command that runs initdb
 */
export async function prepareData(
  directory: string,
  initdb: string[],
  log: Logger
): Promise<string> {
  const data = dataFolderIn(directory)
  createFolder(directory)

  if (!existsSync(data)) {
    log.info({ directory }, 'creating a new database')
    if (hasOtherFiles(directory)) log.warn({ directory }, besideOthers)
    await createData(directory, initdb)
  }
  removeUnfinished(directory)

  return data
}

/**
 * Creates a folder and those above it. (With `recursive`, mkdir of Node.js 20
 * never returns in /proc, and no signal ends it.)
 */
function createFolder(folder: string): void {
  const parent = path.dirname(folder)
  if (!existsSync(parent)) createFolder(parent)

  try {
    mkdirSync(folder)
  } catch (error) {
    const isFolder = statSync(folder, { throwIfNoEntry: false })?.isDirectory()
    if (!isFolder) throw error
  }
}

/**
 * Creates the data under a temporary name and renames it when it is complete:
 * the data of an interrupted start is never used.
 */
async function createData(directory: string, initdb: string[]): Promise<void> {
  const data = dataFolderIn(directory)
  const temporary = mkdtempSync(path.join(directory, unfinished))
  const fresh = dataFolderIn(temporary)

  try {
    await runInitdb(initdb, fresh)
    renameSync(fresh, data)
  } catch (error) {
    // Another process may have been faster.
    if (!existsSync(data)) throw error
  }
}

async function runInitdb(initdb: string[], data: string): Promise<void> {
  const [program = '', ...options] = initdb
  const args = [...options, '-D', data, ...initdbOptions]
  try {
    await promisify(execFile)(program, args, { env: programEnvironment })
  } catch (error) {
    const output = messageOf(error).replace(/^Command failed: .*\n/, '')
    const reason = reasonIn(output)
    throw new Error(`initdb failed: ${reason}`, { cause: error })
  }
}

const besideOthers =
  'DATA_DIR has other files: the database is created beside them, ' +
  'in the folder postgres'

const hasOtherFiles = (directory: string): boolean =>
  readdirSync(directory).some((name) => !name.startsWith(unfinished))

function removeUnfinished(directory: string): void {
  for (const name of readdirSync(directory)) {
    if (!name.startsWith(unfinished)) continue

    const folder = path.join(directory, name)
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}
