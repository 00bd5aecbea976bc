import { readFileSync } from 'node:fs'
import { messageOf } from './errors.ts'

/**
 * Reads a variable. The message of its Error follows the name, as in `PORT must
 * be a port from 0 to 65535`.
 */
type Parse<Value> = (text: string | undefined) => Value

function integer<Default>(
  unit: string,
  minimum: number,
  maximum: number,
  defaultValue: Default
): Parse<number | Default> {
  return (text) => {
    if (text === undefined) return defaultValue
    const number = Number(text)
    // Number() also reads 0x10, 1e3 and ' 7'.
    if (/^\d+$/.test(text) && number >= minimum && number <= maximum)
      return number
    throw new Error(`must be ${unit} from ${minimum} to ${maximum}`)
  }
}

function string<Default>(
  rule: string,
  isAllowed: (text: string) => boolean,
  defaultValue: Default
): Parse<string | Default> {
  return (text) => {
    if (text === undefined) return defaultValue
    if (isAllowed(text)) return text
    throw new Error(`must be ${rule}`)
  }
}

function required(parse: Parse<string | undefined>): Parse<string> {
  return (text) => {
    const value = parse(text)
    if (value === undefined) throw new Error('is required')
    return value
  }
}

const levels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

const isPostgresUrl = (url: string) =>
  /^postgres(ql)?:\/\/[^\s#{}]+$/.test(url) && URL.canParse(url)

/** As browsers write them: without a path and a default port. */
const areOrigins = (list: string) =>
  list
    .split(',')
    .every((url) => URL.canParse(url) && new URL(url).origin === url)

/** The variables: docs/configuration.md has their meanings. */
const variables = {
  PORT: integer('a port', 0, 65_535, 3000),
  HOST: string('an address', () => true, '127.0.0.1'),
  DATABASE_URL: required(
    string('the URL of a PostgreSQL, percent-encoded', isPostgresUrl, undefined)
  ),
  LOG_LEVEL: string(
    `one of ${levels.join(', ')}`,
    (level) => levels.includes(level),
    'info'
  ),
  CORS_ORIGINS: string(
    'origins, with commas between them, such as https://example.com',
    areOrigins,
    undefined
  ),
  METRICS_PORT: integer('a port', 0, 65_535, undefined),
  MAX_REQUESTS_PER_MINUTE: integer('requests', 0, 1_000_000_000, 60_000),
  // The minimum exceeds lock_timeout, so that a lock is reported as one.
  DATABASE_TIMEOUT_MS: integer('milliseconds', 1000, 60_000, 5000),
  // A longer text would not fit into a string of Node.js.
  MAX_RESPONSE_BUFFER_BYTES: integer('bytes', 1, 500_000_000, 33_554_432),
  IDLE_TIMEOUT_MS: integer('milliseconds', 1, 86_400_000, 72_000),
  SHUTDOWN_DELAY_MS: integer('milliseconds', 0, 86_400_000, 0),
  SHUTDOWN_TIMEOUT_MS: integer('milliseconds', 1, 86_400_000, 10_000)
}

/** The value of each variable. */
export type Config = {
  [Name in keyof typeof variables]: ReturnType<(typeof variables)[Name]>
}

/**
 * Reads the configuration. An empty variable counts as unset.
 *
 * @throws Error with a line for each mistake, without values, which may be
 *   secret
 */
export function loadConfig(environment: NodeJS.Dict<string>): Config {
  const texts = withDatabaseUrl(environment)
  const mistakes: string[] = []
  const values = Object.entries(variables).map(([name, parse]) => {
    try {
      return [name, parse(texts[name] || undefined)] as const
    } catch (error) {
      mistakes.push(`${name} ${messageOf(error)}`)
      return [name, undefined] as const
    }
  })
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'))

  return Object.fromEntries(values) as Config
}

/** Reads DATABASE_URL from the file in DATABASE_URL_FILE, if that is set. */
function withDatabaseUrl(texts: NodeJS.Dict<string>): NodeJS.Dict<string> {
  const { DATABASE_URL: url, DATABASE_URL_FILE: file } = texts
  if (!file) return texts
  if (url)
    throw new Error('DATABASE_URL and DATABASE_URL_FILE must not both be set')

  try {
    return { ...texts, DATABASE_URL: readFileSync(file, 'utf8').trim() }
  } catch (cause) {
    const message = `DATABASE_URL_FILE must be readable: ${messageOf(cause)}`
    throw new Error(message, { cause })
  }
}
