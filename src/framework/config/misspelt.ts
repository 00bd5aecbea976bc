import { closestMatch } from 'leven'

/** Typing errors that a misspelt name may have, at most. */
const maxErrors = 2

/** Characters of a name for each typing error: short names are alike. */
const lengthPerError = 4

/**
 * Returns the known name that `name` is probably meant to be; undefined if it
 * is like none of them. Upper and lower case count as equal.
 */
export function suggestName(
  name: string,
  knownNames: string[]
): string | undefined {
  const maxDistance = Math.min(
    maxErrors,
    Math.floor(name.length / lengthPerError)
  )

  return closestMatch(name.toUpperCase(), knownNames, { maxDistance })
}
