// A copy of this repository with another API.
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { stringify } from 'yaml'
import { type Document, readYaml, trainDocument } from './document.ts'

const root = path.resolve(import.meta.dirname, '../..')
const train = path.join(import.meta.dirname, 'train')

/** What belongs to an API. The rest is the framework. */
const partsOfApi =
  /^(openapi[.]yaml|package[.]json|README[.]md|deploy\/haproxy[.]cfg|docs\/(clients|metrics)[.]md|(generated|samples)\/|migrations\/(?!0001_framework)|(src|test)\/handlers\/|tools\/seed[.]ts)/

/** What the fork keeps of it, as docs/architecture.md says. */
const kept =
  /^(package[.]json|README[.]md|deploy|docs|generated\/(names|manual)|test\/handlers\/(examples|statements)[.])/

/** Where the files of the trains belong. */
const targets = {
  '0002_trains.sql': 'migrations/0002_trains.sql',
  'grants.sql': 'migrations/grants.sql',
  'trains.ts': 'src/handlers/trains.ts',
  'index.ts': 'src/handlers/index.ts',
  'seed.ts': 'tools/seed.ts',
  samples: 'samples'
}

const git = (cwd: string, ...options: string[]) =>
  execFileSync('git', options, { cwd, encoding: 'utf8' })

/** Files that git tracks, or would track. */
const filesIn = (folder: string, ...options: string[]): string[] =>
  git(folder, 'ls-files', '--exclude-standard', ...options)
    .split('\n')
    .filter((file) => file !== '')

/** A copy of this repository in which the API is that of the trains. */
export class Fork {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'another-api-'))

  constructor() {
    for (const file of filesIn(root, '--cached', '--others')) {
      const source = path.join(root, file)
      const isCopied = kept.test(file) || !partsOfApi.test(file)
      if (isCopied && existsSync(source))
        cpSync(source, this.path(file), { preserveTimestamps: true })
    }
    symlinkSync(path.join(root, 'node_modules'), this.path('node_modules'))

    // So that git sees later which files have changed.
    git(this.folder, 'init', '--quiet')
    git(this.folder, 'add', '.')

    for (const [file, target] of Object.entries(targets))
      cpSync(path.join(train, file), this.path(target), { recursive: true })
    writeFileSync(this.path('openapi.yaml'), openapi())
    const renamed = this.read('package.json').replace(
      /(?<="name": ").*(?=")/,
      'train-travel'
    )
    writeFileSync(this.path('package.json'), renamed)
  }

  path = (file: string): string => path.join(this.folder, file)

  read = (file: string): string => readFileSync(this.path(file), 'utf8')

  /** The files of the framework that are not as they were. */
  changedFiles = (): string[] =>
    filesIn(this.folder, '--modified').filter((file) => !partsOfApi.test(file))

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }
}

/**
 * The document of the trains, with those components of this repository's that
 * describe the framework and that the trains refer to.
 */
function openapi(): string {
  const ours = readYaml(path.join(root, 'openapi.yaml')) as Document
  const document = trainDocument()
  const { components } = document

  const add = (value: unknown): void => {
    const references = JSON.stringify(value).matchAll(
      /"#\/components\/(\w+)\/(\w+)"/g
    )
    for (const [, kind = '', name = ''] of references) {
      const present = (components[kind] ??= {})
      if (name in present) continue
      present[name] = ours.components[kind]?.[name]
      add(present[name])
    }
  }
  add(document)

  return stringify(document, { aliasDuplicateObjects: false })
}
