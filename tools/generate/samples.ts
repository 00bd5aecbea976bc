// generated/samples.json: the code samples of samples/, for the docs page.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** How documents call the language of a file, by its extension. */
const languages = {
  '.sh': { lang: 'Shell', label: 'curl' },
  '.ts': { lang: 'TypeScript', label: 'TypeScript' },
  '.py': { lang: 'Python', label: 'Python' },
  '.go': { lang: 'Go', label: 'Go' }
}

/** The files of a folder such as samples/. An API may have none. */
const filesIn = (folder: string) =>
  existsSync(folder) ? readdirSync(folder) : []

/** The samples of these operations, by their ids. */
export function samplesFile(folder: string, ids: string[]): string {
  const files = filesIn(folder)
  const samplesOf = (id: string) =>
    Object.entries(languages)
      .filter(([extension]) => files.includes(id + extension))
      .map(([extension, names]) => {
        const file = path.join(folder, id + extension)
        return { ...names, source: readFileSync(file, 'utf8') }
      })
  const samples = ids
    .map((id) => [id, samplesOf(id)] as const)
    .filter(([, own]) => own.length > 0)

  return `${JSON.stringify(Object.fromEntries(samples), null, 2)}\n`
}

/**
 * What is wrong with the files: each operation has one in each language that
 * the folder uses, and no other file is there.
 */
export function sampleProblems(folder: string, ids: string[]): string[] {
  const files = filesIn(folder)
  const used = Object.keys(languages).filter((extension) =>
    files.some((file) => path.extname(file) === extension)
  )
  const needed = ids.flatMap((id) => used.map((extension) => id + extension))
  const missing = needed.filter((file) => !files.includes(file))
  const unused = files.filter((file) => !needed.includes(file))

  return [
    ...missing.map((file) => `${file} is missing: write it by hand`),
    ...unused.map((file) => `${file} belongs to no operation or language`)
  ].map((problem) => `${folder}/${problem}`)
}
