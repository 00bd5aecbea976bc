// An installation without its packages, or with a Node.js that is too old.
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { call } from '../../support/process.ts'
import { inParallel, saysOnly } from './assertions.ts'

/** A folder with what `npm start` runs first, outside of our node_modules. */
function freshClone(t: Test, engines: string) {
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-clone-'))
  t.teardown(() => rmSync(folder, { recursive: true }))

  const names = ['src', 'generated', 'test', 'tools/run.js', 'tools/seed.ts']
  for (const name of names)
    cpSync(name, path.join(folder, name), { recursive: true })

  const packageJson = JSON.parse(readFileSync('package.json', 'utf8')) as object
  writeFileSync(
    path.join(folder, 'package.json'),
    JSON.stringify({ ...packageJson, engines: { node: engines } })
  )

  return folder
}

const missing =
  'packages are missing: run `npm ci`; before Node.js 22.18, without --omit=dev'

const [major] = process.versions.node.split('.')

const mistakesOfInstallations = [
  {
    title: 'npm ci was forgotten',
    engines: '>=20.19',
    commands: ['start', 'run keys list', 'test'],
    says: missing
  },
  {
    title: 'Node.js is too old',
    engines: '>=99.1',
    commands: ['start', 'test'],
    says: `Node.js 99.1 or later is needed, not ${process.versions.node}`
  },
  {
    title: 'Node.js is a little too old',
    engines: `>=${major}.99`,
    commands: ['start'],
    says: `Node.js ${major}.99 or later is needed, not ${process.versions.node}`
  }
]

for (const { title, engines, commands, says } of mistakesOfInstallations) {
  t.test(title, (t) => {
    t.jobs = 2
    const cwd = freshClone(t, engines)
    const env = { npm_config_loglevel: 'silent' }

    for (const command of commands) {
      t.test(`npm ${command}`, inParallel, async (t) => {
        const words = ['npm', '-s', ...command.split(' ')]
        const { code, output } = await call(t, words, { cwd, env })

        t.equal(code, 1)
        saysOnly(t, output, says)
      })
    }
    t.end()
  })
}
