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

interface Document {
  components: Record<string, Record<string, unknown>>
}

/** A copy of this repository in which the API is that of the museum. */
export class Fork {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'petcat-fork-'))
  /** The text of each file of the framework when it was copied. */
  readonly #framework = new Map<string, string>()

  constructor() {
    const files = trackedFiles().filter((file) =>
      existsSync(this.#source(file))
    )
    const framework = files.filter((file) => !partsOfApi.test(file))

    // The generator reads these files, which it also writes, and package.json.
    const kept = [
      'package.json',
      'README.md',
      'docs/clients.md',
      'generated/names.ts'
    ]
    for (const file of [...framework, ...kept])
      cpSync(this.#source(file), this.path(file), { preserveTimestamps: true })

    for (const file of framework) this.#framework.set(file, this.read(file))

    symlinkSync(this.#source('node_modules'), this.path('node_modules'))

    this.#addMuseum()
  }

  path = (file: string): string => path.join(this.folder, file)

  /** The files of the framework that are not as they were. */
  changedFiles(): string[] {
    return [...this.#framework]
      .filter(([file, text]) => this.read(file) !== text)
      .map(([file]) => file)
  }

  read(file: string): string {
    return readFileSync(this.path(file), 'utf8')
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }

  #source(file: string): string {
    return path.join(root, file)
  }

  #addMuseum(): void {
    const targets = {
      '0002_events.sql': 'migrations/0002_events.sql',
      'grants.sql': 'migrations/grants.sql',
      'events.ts': 'src/handlers/events.ts',
      'index.ts': 'src/handlers/index.ts',
      samples: 'samples'
    }

    for (const [file, target] of Object.entries(targets))
      cpSync(path.join(museum, file), this.path(target), { recursive: true })

    writeFileSync(this.path('openapi.yaml'), museumDocument())
  }
}

function trackedFiles(): string[] {
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8'
  })

  return files.trim().split('\n')
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
  const missing = () => referencesIn(document).filter(isMissing)
  const isMissing = ([kind = '', name = '']: string[]) =>
    document.components[kind]?.[name] === undefined

  document.components['securitySchemes'] = components['securitySchemes'] ?? {}

  for (let names = missing(); names.length > 0; names = missing()) {
    for (const [kind = '', name = ''] of names) {
      document.components[kind] ??= {}
      document.components[kind][name] = components[kind]?.[name]
    }
  }

  return stringify(document, { aliasDuplicateObjects: false })
}

/** The kind and name of each component that something refers to. */
function referencesIn(value: unknown): string[][] {
  const references = JSON.stringify(value).matchAll(
    /"#\/components\/(\w+)\/(\w+)"/g
  )
  return [...references].map(([, ...parts]) => parts)
}
