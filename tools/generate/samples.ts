// generated/openapi.yaml: openapi.yaml with the code samples of samples/, as
// the service publishes it. A sample that is missing is written once, from a
// template.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseDocument } from 'yaml'
import type {
  ApiDocument,
  Operation
} from '../../src/framework/openapi/document.ts'
import { type SampleRequest, sampleRequestOf } from './sample-request.ts'
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

const header =
  ' Generated from openapi.yaml and samples/ by `npm run generate`. Do not edit.'

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
   * that the folder uses. Those that exist stay as they are.
   *
   * @returns the text of each new file, by its name
   * @throws Error if the OpenAPI document lacks an example that they need
   */
  async addMissing(api: ApiDocument): Promise<Record<string, string>> {
    const added: Record<string, string> = {}
    const used = this.#languages()

    for (const operation of api.operations) {
      for (const [extension, { template }] of used) {
        const file = operation.id + extension
        if (this.#sources.has(file)) continue

        added[file] = await template(sampleRequestOf(api, operation))
      }
    }

    for (const [file, source] of Object.entries(added))
      this.#sources.set(file, source)

    return added
  }

  /** An OpenAPI document in YAML, with the samples of these operations. */
  addTo(yaml: string, operations: Operation[]): string {
    const document = parseDocument(yaml)
    document.commentBefore = header
    for (const { id, method, path: template } of operations) {
      const place = ['paths', template, method.toLowerCase(), 'x-codeSamples']
      const samples = this.#samplesOf(id)
      if (samples.length === 0) continue

      document.setIn(place, document.createNode(samples))
    }

    // Lines of texts stay as long as they are.
    return document.toString({ lineWidth: 0, flowCollectionPadding: false })
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
