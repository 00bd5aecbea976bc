import { readContract } from '../../src/contract.ts'
import { notice } from '../../src/deprecation.ts'
import type { Finding } from './lint.ts'

/** What the start would refuse of a document, and operations whose sunset comes too soon after their deprecation. */
export function readAsService(file: string): Finding[] {
  const finding = (rule: string, message: string) => ({ place: file, rule, message })
  try {
    return readContract(file).operations.flatMap(({ id, deprecation }) => {
      if (deprecation === undefined) return []
      const earliest = new Date(deprecation.at)
      earliest.setUTCMonth(earliest.getUTCMonth() + notice)
      const isSoon = deprecation.sunset < earliest
      return isSoon ? [finding('deprecation-notice', `${id} must live for ${notice} months after x-deprecated-at`)] : []
    })
  } catch (error) {
    return [finding('start', (error as Error).message)]
  }
}
