// generated/openapi.yaml: openapi.yaml with the code samples of samples/, as
// the service publishes it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseDocument } from 'yaml'
import type { Operation } from '../../src/openapi/document.ts'

/**
 * How documents call the language of a sample, by the extension of its file.
 */
const languages = new Map([
  ['.sh', { lang: 'Shell', label: 'curl' }],
  ['.ts', { lang: 'TypeScript', label: 'TypeScript' }],
  ['.py', { lang: 'Python', label: 'Python' }],
  ['.go', { lang: 'Go', label: 'Go' }]
])

const header =
  ' Generated from openapi.yaml and samples/ by `npm run generate`. Do not edit.'

/** The code samples of an API, files such as `samples/listPets.py`. */
export class Samples {
  readonly #folder: string
  /** Their names; none if there is no folder. */
  readonly #files: string[]

  constructor(folder: string) {
    this.#folder = folder
    this.#files = existsSync(folder) ? readdirSync(folder) : []
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

  /**
   * What is wrong with the files: each operation needs a sample in each
   * language that has one, and each sample needs an operation.
   */
  problems(operations: Operation[]): string[] {
    const needed = operations.flatMap(({ id }) =>
      this.#extensions().map((extension) => id + extension)
    )
    const missing = needed.filter((file) => !this.#files.includes(file))
    const unused = this.#files.filter((file) => !needed.includes(file))

    return [
      ...missing.map((file) => `samples/${file} is missing: add this sample`),
      ...unused.map(
        (file) => `samples/${file} belongs to no operation, or has no language`
      )
    ]
  }

  /** The extensions of the languages that have a sample. */
  #extensions(): string[] {
    const used = new Set(this.#files.map((file) => path.extname(file)))

    return [...languages.keys()].filter((extension) => used.has(extension))
  }

  #samplesOf(id: string) {
    return [...languages].flatMap(([extension, language]) => {
      const file = id + extension
      if (!this.#files.includes(file)) return []

      const source = readFileSync(path.join(this.#folder, file), 'utf8')
      return [{ ...language, source }]
    })
  }
}
