// The kinds of variables: how each kind reads its text, and how it describes
// text that it rejects.

/** An environment variable of the service. */
export interface Variable<Value, Default extends Value | undefined> {
  /** The value if the variable is not set. */
  default: Default
  description: string
  /** Completes "NAME must …" in an error message. */
  rule: string
  /** Returns the value, or undefined if the text breaks the rule. */
  parse: (input: string) => Value | undefined
}

interface WithDefault<Value> {
  default: Value
  description: string
}

interface Range {
  default: number
  minimum: number
  maximum: number
  description: string
}

const millisecondsOfADay = 86_400_000

function wholeNumber(input: string): number | undefined {
  const number = Number(input)
  const isWhole = /^-?\d+$/.test(input) && Number.isSafeInteger(number)
  return isWhole ? number : undefined
}

/** Returns a function that reads a whole number within a range. */
const parserOf =
  (minimum: number, maximum: number) =>
  (input: string): number | undefined => {
    const number = wholeNumber(input)
    if (number === undefined) return undefined
    return number >= minimum && number <= maximum ? number : undefined
  }

function numberOf(
  unit: string,
  { minimum, maximum, ...rest }: Range
): Variable<number, number> {
  const upTo =
    maximum === Number.MAX_SAFE_INTEGER
      ? `at least ${minimum}`
      : `from ${minimum} to ${maximum}`

  return {
    ...rest,
    rule: `be a whole number${unit}, ${upTo}`,
    parse: parserOf(minimum, maximum)
  }
}

/** A number of things: connections, requests. */
export const count = (
  range: Omit<Range, 'maximum'> & { maximum?: number }
): Variable<number, number> =>
  numberOf('', { maximum: Number.MAX_SAFE_INTEGER, ...range })

/** A size in bytes. */
export const bytes = (
  range: Omit<Range, 'maximum'>
): Variable<number, number> =>
  numberOf(' of bytes', { maximum: Number.MAX_SAFE_INTEGER, ...range })

/** A time in milliseconds, at most a day. */
export const milliseconds = (
  range: Omit<Range, 'minimum' | 'maximum'> & { minimum?: number }
): Variable<number, number> =>
  numberOf(' of milliseconds', {
    minimum: 1,
    maximum: millisecondsOfADay,
    ...range
  })

/** A time in hours. */
export const hours = (range: Range): Variable<number, number> =>
  numberOf(' of hours', range)

/** A part of a whole. */
export const ratio = (
  definition: WithDefault<number>
): Variable<number, number> => ({
  ...definition,
  rule: 'be a number from 0 to 1, such as 0.01',
  parse(input) {
    const isRatio = /^\d*\.?\d+$/.test(input) && Number(input) <= 1
    return isRatio ? Number(input) : undefined
  }
})

/** A TCP port; 0 takes a free one. */
export const port = <Default extends number | undefined>(
  definition: WithDefault<Default>
): Variable<number, Default> => ({
  ...definition,
  rule: 'be a port, from 0 to 65535',
  parse: parserOf(0, 65535)
})

/** `true` or `false`. */
export const boolean = (
  definition: WithDefault<boolean>
): Variable<boolean, boolean> => ({
  ...definition,
  rule: 'be true or false',
  parse(input) {
    if (input === 'true') return true
    return input === 'false' ? false : undefined
  }
})

/** One of a few words. */
export const oneOf = <const Word extends string>({
  words,
  default: value,
  description
}: {
  words: readonly Word[]
  default: NoInfer<Word>
  description: string
}): Variable<Word, Word> => ({
  default: value,
  description: `${description}: ${words.join(', ')}`,
  rule: `be one of: ${words.join(', ')}`,
  parse: (input) => words.find((word) => word === input)
})

/** Text with a default. */
export const text = (
  definition: WithDefault<string>
): Variable<string, string> => ({
  ...definition,
  rule: 'be text',
  parse: (input) => input
})

/** Text, if it is set. Without `isValid`, any text is valid. */
export const optionalText = ({
  description,
  rule = 'be text',
  isValid = () => true
}: {
  description: string
  rule?: string
  isValid?: (input: string) => boolean
}): Variable<string, undefined> => ({
  default: undefined,
  description,
  rule,
  parse: (input) => (isValid(input) ? input : undefined)
})
