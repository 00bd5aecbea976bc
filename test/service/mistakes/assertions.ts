// What a new user may do wrong: the service, or the command, says so in one
// line that names the variable or the file, and the remedy.
import type { Test } from 'tap'
import { serviceName } from '../../../generated/names.ts'
import { loadConfig } from '../../../src/framework/config.ts'
import { messageOf } from '../../../src/framework/log.ts'
import { openForCommand } from '../../../src/framework/open-database.ts'
import { api } from '../../../src/handlers/index.ts'
import { silent } from '../../support/database.ts'
import { noFile } from '../../support/service.ts'

/** Tests whose parent has several jobs, which wait more than they compute. */
export const inParallel = { buffered: true }

/** What a user does, and the line that this leads to. */
export interface Mistake {
  title: string
  env?: Record<string, string>
  says: string | RegExp
}

/** What the command line writes before each of its lines. */
export const prefix = `${serviceName}: `

const isLogged = (line: string) => line.startsWith('{')
const isOfWelcome = (line: string) => /^ {2}\S/.test(line)

/** The lines of an output that report something: no others of the log. */
function complaintsIn(output: string): string[] {
  const lines = output.split('\n').filter((line) => line !== '')
  const printed = lines
    .filter((line) => !isLogged(line) && !isOfWelcome(line))
    .map((line) => line.replace(prefix, ''))
  const logged = lines
    .filter(isLogged)
    .map((line) => JSON.parse(line) as { level: number; msg: string })
    .filter(({ level }) => level >= 40)
    .map(({ msg }) => msg)

  return [...printed, ...logged]
}

/** Asserts that these lines are the one expected, without secrets. */
export function isOneLine(
  t: Test,
  lines: string[],
  says: string | RegExp
): void {
  const text = lines.join('\n')
  t.equal(text.split('\n').length, 1, text)
  if (typeof says === 'string') t.equal(text, says)
  else t.match(text, says)
  t.notMatch(text, 'secret')
}

/** Asserts that an output reports this and nothing else. */
export const saysOnly = (t: Test, output: string, says: string | RegExp) =>
  isOneLine(t, complaintsIn(output), says)

/** The message of the error with which a promise rejects. */
export const messageOfRejected = (promise: Promise<unknown>) =>
  promise.then(() => 'no error', messageOf)

/** Asserts that opening the database fails with one line. */
export async function failsToOpen(
  t: Test,
  env: Record<string, string>,
  says: string | RegExp
) {
  const opening = openForCommand(loadConfig(env, noFile), api, silent)
  isOneLine(t, [await messageOfRejected(opening)], says)
}

/** No server listens there. */
export const unreachable = {
  DATABASE_URL: 'postgres://user:secret@127.0.0.1:1/x'
}

/** What the service says when it gets a port as an argument. */
export const unknownPort =
  'unknown argument --port: set variables, as in PORT=4000 npm start; see docs/configuration.md'
