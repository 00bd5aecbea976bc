// A copy of this repository with another API.
import { execFileSync } from 'node:child_process'
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { stringify } from 'yaml'
import { copyFiles } from '../copy-files.ts'
import { type Document, readYaml, trainDocument } from './document.ts'

const root = path.resolve(import.meta.dirname, '../..')

/** What belongs to an API. The rest is the framework. */
const partsOfApi =
  /^(openapi[.]yaml|package[.]json|README[.]md|deploy\/haproxy[.]cfg|docs\/(clients|metrics)[.]md|(generated|samples)\/|migrations\/(?!0001_framework)|(src|test)\/handlers\/|tools\/seed[.]ts)/

/** What the fork keeps of it, as docs/architecture.md says. */
const kept =
  /^(package[.]json|README[.]md|deploy|docs|generated\/(names|manual)|test\/handlers\/(examples|statements)[.])/

const git = (folder: string, ...options: string[]) =>
  execFileSync('git', options, { cwd: folder, encoding: 'utf8' })

const filesIn = (folder: string, ...options: string[]): string[] =>
  git(folder, 'ls-files', ...options).match(/.+/g) ?? []

/** Makes a copy of this repository in which the API is that of the trains. */
export function makeFork(): string {
  const folder = copyFiles()
  symlinkSync(path.join(root, 'node_modules'), `${folder}/node_modules`)

  // So that git sees later which files have changed.
  git(folder, 'init', '--quiet')
  git(folder, 'add', '.')
  const replaced = filesIn(folder).filter(
    (file) => partsOfApi.test(file) && !kept.test(file)
  )
  git(folder, 'rm', '--quiet', '--force', ...replaced)

  cpSync(path.join(import.meta.dirname, 'train'), folder, { recursive: true })
  writeFileSync(`${folder}/openapi.yaml`, openapi())
  return folder
}

/** The files of the framework that are not as they were. */
export const changedFiles = (folder: string): string[] =>
  filesIn(folder, '--modified').filter((file) => !partsOfApi.test(file))

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
