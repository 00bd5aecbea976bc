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
import { parse, stringify } from 'yaml'

const root = path.resolve(import.meta.dirname, '../..')
const museum = path.join(import.meta.dirname, 'museum')

/** What belongs to an API. The rest is the framework. */
const partsOfApi =
  /^(openapi[.]yaml|package[.]json|README[.]md|docs\/(clients|metrics)[.]md|(generated|samples)\/|migrations\/(?!0001_framework)|(src|test)\/handlers\/)/

/** The generator reads these files, which it also writes, and package.json. */
const kept =
  /^(package[.]json|README[.]md|docs\/(clients|metrics)[.]md|generated\/names[.]ts)$/

/** Where the files of the museum belong. */
const targets = {
  '0002_events.sql': 'migrations/0002_events.sql',
  'grants.sql': 'migrations/grants.sql',
  'events.ts': 'src/handlers/events.ts',
  'index.ts': 'src/handlers/index.ts',
  samples: 'samples'
}

interface Document {
  components: Record<string, Record<string, unknown>>
}

const git = (cwd: string, ...options: string[]) =>
  execFileSync('git', options, { cwd, encoding: 'utf8' })

/** Files that git tracks, or would track. */
const filesIn = (folder: string, ...options: string[]): string[] =>
  git(folder, 'ls-files', '--exclude-standard', ...options)
    .split('\n')
    .filter((file) => file !== '')

/** A copy of this repository in which the API is that of the museum. */
export class Fork {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'petcat-fork-'))

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
      cpSync(path.join(museum, file), this.path(target), { recursive: true })
    writeFileSync(this.path('openapi.yaml'), museumDocument())
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

const readDocument = (file: string) =>
  parse(readFileSync(file, 'utf8')) as Document

/**
 * The document of the museum, with those components of this repository's that
 * describe the framework and that the museum refers to.
 */
function museumDocument(): string {
  const document = readDocument(path.join(museum, 'openapi.yaml'))
  const { components } = readDocument(path.join(root, 'openapi.yaml'))
  document.components['securitySchemes'] = components['securitySchemes'] ?? {}

  const add = (value: unknown): void => {
    const references = JSON.stringify(value).matchAll(
      /"#\/components\/(\w+)\/(\w+)"/g
    )
    for (const [, kind = '', name = ''] of references) {
      const present = (document.components[kind] ??= {})
      if (name in present) continue
      present[name] = components[kind]?.[name]
      add(present[name])
    }
  }
  add(document)

  return stringify(document, { aliasDuplicateObjects: false })
}
