import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { startEmbeddedPostgres } from '../../../src/framework/embedded/postgres.ts'
import { copyData } from '../../support/database.ts'
import { recorder } from '../../support/recorder.ts'

/** Where the kernel, not the file system, decides what may be created. */
const onLinux = process.platform === 'linux' ? {} : { skip: 'only Linux' }

const runs = (command: string, ...args: string[]) =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** Whether this process may mount file systems. */
function canMount(): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-mount-'))
  const isMounted = runs('mount', '-t', 'tmpfs', 'none', folder)
  if (isMounted) runs('umount', folder)
  rmSync(folder, { recursive: true })

  return isMounted
}

const withMounts = canMount() ? {} : { skip: 'mount is not permitted' }

/** Mounts an empty disk until the test ends, and returns its folder. */
function mountDisk(t: Test, size: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-disk-'))
  t.ok(runs('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'none', folder))
  t.teardown(() => {
    runs('umount', folder)
    rmSync(folder, { recursive: true })
  })

  return folder
}

/** Asserts that a start fails immediately, for this reason, in one line. */
async function failsAtOnce(t: Test, directory: string, reason: RegExp) {
  const { lines, log } = recorder()
  const start = startEmbeddedPostgres(directory, 'service', log)
  await t.rejects(start, { message: reason })
  const waiting = lines.filter(({ msg }) => String(msg).includes('waiting'))
  t.same(waiting, [])
}

t.test('a lock file that cannot be read is not waited for', async (t) => {
  const directory = t.testdir()
  copyData(directory)
  mkdirSync(path.join(directory, 'postgres/postmaster.pid'))
  const reason =
    /^DATA_DIR cannot be used: PostgreSQL did not start: could not read lock file "postmaster\.pid": .+$/
  await failsAtOnce(t, directory, reason)
})

t.test('a folder that cannot be created in /proc', onLinux, async (t) => {
  const reason =
    /^DATA_DIR cannot be used: ENOENT: .* '\/proc\/x': set DATA_DIR to a folder that can be created$/
  await failsAtOnce(t, '/proc/x/y', reason)
})

t.test('a folder that the user may not write', onLinux, async (t) => {
  const reason =
    /^DATA_DIR cannot be used: E\w+: .* '\/sys\/x': make the folder writable, or set DATA_DIR to another one$/
  await failsAtOnce(t, '/sys/x', reason)
})

t.test('a file instead of a folder', async (t) => {
  const directory = t.testdir({ file: '' })
  const remedy = /: set DATA_DIR to a folder that can be created$/
  await failsAtOnce(t, path.join(directory, 'file'), remedy)
  await failsAtOnce(t, path.join(directory, 'file/folder'), remedy)
})

t.test('a read-only disk, with and without data', withMounts, async (t) => {
  const disk = mountDisk(t, '200M')
  copyData(disk)
  t.ok(runs('mount', '-o', 'remount,ro', disk))

  const remedy = ': make the folder writable, or set DATA_DIR to another one$'
  await failsAtOnce(
    t,
    disk,
    new RegExp(
      `^DATA_DIR cannot be used: PostgreSQL did not start: .*Read-only file system${remedy}`
    )
  )

  await failsAtOnce(
    t,
    path.join(disk, 'folder'),
    new RegExp(`^DATA_DIR cannot be used: EROFS: .*${remedy}`)
  )
})

t.test('a full disk', withMounts, async (t) => {
  const disk = mountDisk(t, '8M')
  const reason =
    /^DATA_DIR cannot be used: initdb failed: .*No space left on device: free space on the disk, or .*$/
  await failsAtOnce(t, disk, reason)
})
