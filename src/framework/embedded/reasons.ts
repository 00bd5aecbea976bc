import { messageOf } from '../message-of.ts'

/**
 * What the operator can do about a reason, in Node.js's or PostgreSQL's words.
 */
const remedies = [
  {
    reason: /read-only file system|permission denied|not permitted/i,
    remedy: 'make the folder writable, or set DATA_DIR to another one'
  },
  {
    reason: /no space left|quota exceeded/i,
    remedy: 'free space on the disk, or set DATA_DIR to a folder on another one'
  },
  {
    reason: /^(EEXIST|ENOENT|ENOTDIR):/,
    remedy: 'set DATA_DIR to a folder that can be created'
  },
  {
    reason: /lock file "postmaster\.pid" is empty/,
    remedy: 'delete this file if no PostgreSQL uses DATA_DIR'
  }
]

/** The error of a folder, in one line with the remedy if there is one. */
export function withRemedy(error: unknown): Error {
  const reason = messageOf(error)
  const match = remedies.find((one) => one.reason.test(reason))
  const remedy = match === undefined ? '' : `: ${match.remedy}`
  const message = `DATA_DIR cannot be used: ${reason}${remedy}`

  return new Error(message, { cause: error })
}

/** Picks the reason why PostgreSQL or initdb failed from its output. */
export function reasonIn(output: string): string {
  const [, reason] = /(?:FATAL|PANIC|error): +(.+)/.exec(output) ?? []
  return reason ?? output.trim()
}
