import { readContract } from '../../src/contract.ts'
import { addMonths, notice } from '../../src/deprecation.ts'
import type { Finding } from './lint.ts'

/** What the start would refuse of a document, and operations whose sunset comes too soon after their deprecation. */
export function readAsService(file: string): Finding[] {
  const finding = (rule: string, message: string) => ({ place: file, rule, message })
  try {
    return readContract(file).operations.flatMap(({ id, deprecation }) => {
      if (deprecation === undefined) return []
      if (deprecation.at <= addMonths(deprecation.sunset, -notice)) return []
      const message = `${id} must have an x-sunset ${notice} months after its x-deprecated-at, or later`
      return [finding('deprecation-notice', message)]
    })
  } catch (error) {
    return [finding('start', (error as Error).message)]
  }
}
