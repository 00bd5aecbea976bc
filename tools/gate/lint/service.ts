import { readContract } from '../../../src/openapi/document.ts'
import { addMonths, notice } from '../notice.ts'
import { operationsOf } from '../contract/document.ts'
import type { Finding } from './lint.ts'

/** What the start of the service rejects, and operations whose sunset comes too soon after their deprecation. */
export function readAsService(file: string): Finding[] {
  try {
    const { document } = readContract(file)
    return [...operationsOf(document)].flatMap(([operation, { deprecatedAt, sunset }]) => {
      if (deprecatedAt === undefined || sunset === undefined) return []
      if (addMonths(new Date(deprecatedAt), notice) <= new Date(sunset)) return []
      const message = `${operation}: x-sunset must be ${notice} months after x-deprecated-at, or later`
      return [{ place: file, rule: 'deprecation-notice', message }]
    })
  } catch (error) {
    return [{ place: file, rule: 'start', message: (error as Error).message.replace('openapi.yaml: ', '') }]
  }
}
