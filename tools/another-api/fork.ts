// A copy of this repository with another API.
import { execFileSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parse, stringify } from 'yaml'
import { copyFiles } from '../copy-files.ts'

interface Document {
  components: Record<string, Record<string, unknown>>
}

const root = path.resolve(import.meta.dirname, '../..')

/** What docs/architecture.md says to delete. */
const deleted = [
  'migrations/0002_pet_shop.sql',
  'migrations/0003_vacuum_of_messages.sql',
  'samples',
  'src/handlers',
  'test/handlers',
  ':!test/handlers/examples.test.ts',
  ':!test/handlers/statements.test.ts'
]

/** What belongs to an API. The rest is the framework. */
const partsOfApi =
  /^(openapi[.]yaml|package[.]json|README[.]md|deploy\/haproxy[.]cfg|docs\/(clients|metrics)[.]md|generated\/|migrations\/grants[.]sql|tools\/seed[.]ts)/

const git = (folder: string, ...options: string[]) =>
  execFileSync('git', options, { cwd: folder, encoding: 'utf8' })

/** Makes a copy of this repository in which the API is that of the trains. */
export function makeFork(): string {
  const folder = copyFiles()
  symlinkSync(path.join(root, 'node_modules'), `${folder}/node_modules`)

  // So that git sees later which files have changed.
  git(folder, 'init', '--quiet')
  git(folder, 'add', '.')
  git(folder, 'rm', '-r', '--quiet', '--force', ...deleted)

  const train = path.join(import.meta.dirname, 'train')
  cpSync(train, folder, { recursive: true })
  const document = addComponents(readDocument(train), readDocument(root))
  writeFileSync(`${folder}/openapi.yaml`, document)
  return folder
}

/** The files of the framework that are not as they were. */
export const changedFiles = (folder: string): string[] =>
  git(folder, 'ls-files', '--modified')
    .split('\n')
    .filter((file) => file !== '' && !partsOfApi.test(file))

const readDocument = (folder: string) =>
  parse(readFileSync(`${folder}/openapi.yaml`, 'utf8')) as Document

/**
 * A document with those components of this repository's that describe the
 * framework and that it refers to, as YAML.
 */
function addComponents(document: Document, ours: Document): string {
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
