import { existsSync, readFileSync } from 'node:fs'
import { Ajv, type ErrorObject } from 'ajv'
import { messageOf } from './message-of.ts'
import { descriptionOf, type Variable, variables } from './variables.ts'

interface Types {
  boolean: boolean
  integer: number
  string: string
}

type Variables = typeof variables
type Name = keyof Variables
type Values = { [N in Name]: Types[Variables[N]['type']] }
type Optional = {
  [N in Name]: Variables[N] extends { default: unknown } ? never : N
}[Name]

/** The value of each variable; those without a default may be missing. */
export type Config = Omit<Values, Optional> & Partial<Pick<Values, Optional>>

type Texts = NodeJS.Dict<string>

const validate = new Ajv({
  allErrors: true,
  removeAdditional: 'all',
  useDefaults: true,
  verbose: true,
  formats: {
    postgres: (text) =>
      /^postgres(ql)?:\/\/[^\s#{}]+$/.test(text) && URL.canParse(text),
    // As browsers write them: without a path and a default port.
    origins: (text) =>
      text
        .split(',')
        .every(
          (url) =>
            /^https?:[\w/.:[\]-]+$/.test(url) &&
            URL.canParse(url) &&
            new URL(url).origin === url
        )
  }
}).compile<Config>({ type: 'object', properties: variables })

/**
 * A line of `.env`: NAME=value, perhaps with `export` and a comment. Dialects
 * of such files differ on `#`, quotes and backslashes in other places, and the
 * parser of Node.js skips a line such as `LOG_LEVEL: debug` without a word.
 */
const linePattern =
  /^\s*(?:export\s+)?(\w+)\s*=\s*(?:"([^"\\]*)"|'([^']*)'|([^"'`#\\]*?))(?:\s+#.*)?\s*$/

/**
 * Reads the configuration from the environment, then the file, then the
 * defaults. An empty variable counts as unset. The file may be missing. Reports
 * unknown names in the file.
 *
 * @throws Error with a line for each mistake, which names the variable and its
 *   rule, without values that may be secret
 */
export function loadConfig(environment: Texts, file = '.env'): Config {
  const fromFile = existsSync(file) ? parseFile(readText(file, file), file) : {}
  for (const name of Object.keys(fromFile)) {
    if (!Object.hasOwn(variables, name))
      console.error(`${file}: ignoring ${name}: no variable has this name`)
  }

  // The two name one value, so each overrides the other.
  if (environment['DATABASE_URL'] || environment['DATABASE_URL_FILE']) {
    delete fromFile['DATABASE_URL']
    delete fromFile['DATABASE_URL_FILE']
  }

  const entries = [fromFile, environment]
    .flatMap(Object.entries<string | undefined>)
    .filter(([, text]) => text !== '')
  const texts = withDatabaseUrl(Object.fromEntries(entries))
  const values = Object.fromEntries(
    Object.entries(texts).map(([name, text = '']) => [
      name,
      valueOf(name, text)
    ])
  )
  if (validate(values)) return values

  throw new Error(validate.errors?.map(describe).join('\n'))
}

/** @throws Error without the text of a line, which may be part of a secret */
function parseFile(text: string, file: string): Texts {
  const texts: Texts = {}
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue

    const lineName = `${file}: line ${index + 1}`
    const [, name, ...values] = linePattern.exec(line) ?? []
    if (name === undefined) {
      throw new Error(
        `${lineName} must be NAME=value: ` +
          'write a value that has #, \\, quotes or backquotes in single quotes'
      )
    }
    if (Object.hasOwn(texts, name))
      throw new Error(`${lineName} sets ${name} again: remove one of the two`)
    texts[name] = values.join('')
  }

  return texts
}

/** The value of an integer or boolean that is written as documented. */
function valueOf(name: string, text: string): unknown {
  const isString = variables[name as Name]?.type === 'string'
  const isValue = /^(0|[1-9]\d*|true|false)$/.test(text)
  return isValue && !isString ? (JSON.parse(text) as unknown) : text
}

/**
 * @param source what an error calls the file
 * @throws Error without the text of the file
 */
export function readText(file: string, source: string): string {
  try {
    // Removes a byte order mark, with which Windows editors start a file.
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (error) {
    throw new Error(
      `${source} must be a readable file in UTF-8: ${messageOf(error)}`,
      { cause: error }
    )
  }
}

/** Reads DATABASE_URL from DATABASE_URL_FILE, if that is set. */
function withDatabaseUrl(texts: Texts): Texts {
  const { DATABASE_URL, DATABASE_URL_FILE: file } = texts
  if (file === undefined) return texts
  if (DATABASE_URL !== undefined)
    throw new Error('DATABASE_URL and DATABASE_URL_FILE must not both be set')

  return { ...texts, DATABASE_URL: readText(file, 'DATABASE_URL_FILE').trim() }
}

/** Writes `PORT must be <= 65535: Port to listen on. 0 takes a free one.` */
function describe({ instancePath, message, parentSchema }: ErrorObject) {
  const description = descriptionOf(parentSchema as Variable)
  return `${instancePath.slice(1)} ${message}: ${description}`
}
