import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { startEmbeddedPostgres } from '../../tools/start/embedded-postgres.ts'
import { query, requiredVariable, temporaryFolder } from './database.ts'
import { startDatabaseProxy } from './proxy.ts'
import { until } from './until.ts'

/** Copies the DATA_DIR of a server that has stopped. */
export const copyData = (from: string, to: string) =>
  execFileSync('cp', ['-R', `${from}/.`, to])

/**
 * Starts a PostgreSQL server of its own with a migrated database, which is
 * stopped when the test ends.
 */
export async function startDedicatedPostgres(t: Test) {
  const folder = temporaryFolder(t)
  const lockFile = path.join(folder, 'postgres/postmaster.pid')
  copyData(requiredVariable('TEST_DATA_DIR'), folder)
  let server = await startEmbeddedPostgres(folder)
  t.teardown(() => server.stop())
  // Its address stays when the server starts again.
  const { url, state, disconnectOn, passThrough } = await startDatabaseProxy(
    t,
    server.url
  )

  async function start(): Promise<void> {
    server = await startEmbeddedPostgres(folder)
    state.upstreamUrl = server.url
  }

  return {
    url,
    disconnectOn,
    passThrough,
    /** Ends it without a checkpoint, as a machine that fails does. */
    crashAndRestart: async () => {
      process.kill(parseInt(readFileSync(lockFile, 'utf8')), 'SIGQUIT')
      // It rejects with the reason.
      await server.unexpectedExit?.catch(() => {})
      await start()
    },
    restart: async () => {
      await server.stop()
      await start()
    },
    /** Copies the files of the stopped server. Returns what puts them back. */
    copyFiles: async () => {
      const copy = temporaryFolder(t)
      await server.stop()
      copyData(folder, copy)
      await start()

      return async () => {
        await server.stop()
        rmSync(path.join(folder, 'postgres'), { recursive: true })
        copyData(copy, folder)
        await start()
      }
    },
    killWalWriter: () => killWalWriter(url)
  }
}

/**
 * Kills one process of the server, which then ends the others and recovers.
 * Resolves when that is done.
 */
async function killWalWriter(url: string): Promise<void> {
  const sql =
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
  const writer = async () => {
    const [row] = await query(url, sql).catch(() => [])
    return Number(row?.['pid'] ?? 0)
  }
  const victim = await until(writer, 'PostgreSQL writes')
  process.kill(victim, 'SIGKILL')
  const hasRecovered = async () => ![0, victim].includes(await writer())
  await until(hasRecovered, 'PostgreSQL has recovered')
}

/** Changes a setting of the server at `url`. */
export async function configure(url: string, setting: string): Promise<void> {
  await query(url, `ALTER SYSTEM SET ${setting}`)
  await query(url, 'SELECT pg_reload_conf()')
}
