// generated/samples.json: the code samples of samples/, for the docs page. A
// sample that is missing is written once, from a template.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type {
  ApiDocument,
  Operation
} from '../../src/framework/openapi/document.ts'
import {
  MissingExample,
  type SampleRequest,
  sampleRequestOf
} from './sample-request.ts'
import { go, python, shell, typescript } from './sample-templates.ts'

/** The language of a sample. */
interface Language {
  /** How documents call it. */
  names: { lang: string; label: string }
  template: (request: SampleRequest) => string | Promise<string>
}

/** By the extension of its files. */
const languages = new Map<string, Language>([
  ['.sh', { names: { lang: 'Shell', label: 'curl' }, template: shell }],
  [
    '.ts',
    {
      names: { lang: 'TypeScript', label: 'TypeScript' },
      template: typescript
    }
  ],
  ['.py', { names: { lang: 'Python', label: 'Python' }, template: python }],
  ['.go', { names: { lang: 'Go', label: 'Go' }, template: go }]
])

/** The code samples of an API, files such as `samples/listPets.py`. */
export class Samples {
  /** The text of each file, by its name. Empty if there is no folder. */
  readonly #sources: Map<string, string>

  constructor(folder: string) {
    const files = existsSync(folder) ? readdirSync(folder) : []
    this.#sources = new Map(
      files.map((file) => [file, readFileSync(path.join(folder, file), 'utf8')])
    )
  }

  /**
   * Adds the samples that are missing: each operation has one in each language
   * that the folder uses. Those that exist stay as they are. Those
   * that need an example that the OpenAPI document lacks are left out.
   *
   * @param report gets a line for each operation whose samples are left out
   * @returns the text of each new file, by its name
   */
  async addMissing(
    api: ApiDocument,
    report: (line: string) => void = console.error
  ): Promise<Record<string, string>> {
    const added: Record<string, string> = {}

    for (const operation of api.operations) {
      const missing = this.#languages().filter(
        ([extension]) => !this.#sources.has(operation.id + extension)
      )
      if (missing.length === 0) continue

      try {
        const request = sampleRequestOf(api, operation)
        for (const [extension, { template }] of missing)
          added[operation.id + extension] = await template(request)
      } catch (error) {
        if (!(error instanceof MissingExample)) throw error
        report(`${error.message}, and are left out`)
      }
    }

    for (const [file, source] of Object.entries(added))
      this.#sources.set(file, source)

    return added
  }

  /** generated/samples.json: the samples of these operations, by their ids. */
  file(operations: Operation[]): string {
    const samples = operations
      .map(({ id }) => [id, this.#samplesOf(id)] as const)
      .filter(([, own]) => own.length > 0)

    return `${JSON.stringify(Object.fromEntries(samples), null, 2)}\n`
  }

  /** Which files belong to no operation, or to no language. */
  problems(operations: Operation[]): string[] {
    const needed = operations.flatMap(({ id }) =>
      [...languages.keys()].map((extension) => id + extension)
    )
    const unused = [...this.#sources.keys()].filter(
      (file) => !needed.includes(file)
    )

    return unused.map(
      (file) => `samples/${file} belongs to no operation, or has no language`
    )
  }

  /** The languages that have a sample. */
  #languages(): [string, Language][] {
    const used = new Set(
      [...this.#sources.keys()].map((file) => path.extname(file))
    )
    return [...languages].filter(([extension]) => used.has(extension))
  }

  #samplesOf(id: string) {
    return [...languages].flatMap(([extension, { names }]) => {
      const source = this.#sources.get(id + extension)
      return source === undefined ? [] : [{ ...names, source }]
    })
  }
}
