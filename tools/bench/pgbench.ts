import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

/** The pgbench of this machine: on the PATH, or where Debian keeps it. Undefined when there is none. */
export async function findPgbench(): Promise<string | undefined> {
  const versions = await readdir('/usr/lib/postgresql').catch(() => [])
  for (const program of ['pgbench', ...versions.map((version) => `/usr/lib/postgresql/${version}/bin/pgbench`)]) {
    const found = await promisify(execFile)(program, ['--version']).catch(() => undefined)
    if (found) return program
  }
  return undefined
}

/** One INSERT a transaction, prepared, on so many connections; transactions a second. */
export async function pgbench(
  program: string,
  databaseUrl: string,
  connections: number,
  seconds: number
): Promise<number> {
  const directory = await mkdtemp(path.join(tmpdir(), 'petcat-bench-'))
  try {
    const script = path.join(directory, 'create.sql')
    await writeFile(
      script,
      `INSERT INTO categories (name, description) VALUES ('Rabbit', 'Small mammals with long ears') RETURNING id, name, description;\n`
    )
    const args = ['-n', '-M', 'prepared', '-c', String(connections), '-T', String(seconds), '-f', script, databaseUrl]
    const { stdout } = await promisify(execFile)(program, args)
    return Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
  } finally {
    await rm(directory, { recursive: true })
  }
}
