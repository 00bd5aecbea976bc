import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseEnv } from 'node:util'
import { Ajv, type ErrorObject } from 'ajv'
import ipaddr from 'ipaddr.js'
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

const isHopCount = (text: string) => /^\d{1,3}$/.test(text)

const validate = new Ajv({
  allErrors: true,
  coerceTypes: true,
  removeAdditional: 'all',
  useDefaults: true,
  verbose: true,
  formats: {
    proxies: (text) => isHopCount(text) || text.split(/, */).every(isNetwork)
  }
}).compile<Config>({ type: 'object', properties: variables })

/**
 * Reads the configuration from the environment, then the file, then the
 * defaults. An empty variable counts as unset. The file may be missing. Its
 * variables of OpenTelemetry are added to the environment, where the SDK reads
 * them. Reports other unknown names in the file.
 *
 * @throws Error with a line for each mistake, which names the variable and its
 *   rule, without values that may be secret
 */
export function loadConfig(environment: Texts, file = '.env'): Config {
  const fromFile = existsSync(file) ? parseEnv(readText(file, file)) : {}
  for (const [name, text] of Object.entries(fromFile)) {
    if (name.startsWith('OTEL_')) environment[name] ||= text
    else if (isUnknown(name))
      console.error(`${file}: ignoring ${name}: no variable has this name`)
  }

  const texts = [fromFile, environment]
    .flatMap(Object.entries<string | undefined>)
    .filter(([, text]) => text !== '')
  const values = withDatabaseUrl(Object.fromEntries(texts))
  if (validate(values)) return values

  throw new Error(validate.errors?.map(describe).join('\n'))
}

/**
 * A value broken over two lines would make its second line, perhaps a secret,
 * look like a name: names have letters, digits and `_` only.
 */
const isUnknown = (name: string): boolean =>
  /^\w+$/.test(name) && !(name in variables)

/** @param source what an error calls the file */
function readText(file: string, source: string): string {
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
const describe = ({ instancePath, message, parentSchema }: ErrorObject) =>
  `${instancePath.slice(1)} ${message}: ${descriptionOf(parentSchema as Variable)}`

/** Whether the text is an IP address, or a network such as 10.0.0.0/8. */
const isNetwork = (text: string): boolean =>
  // ipaddr.js alone accepts 10.1 as an address. Fastify rejects the length 0.
  isIP(text) > 0 || (ipaddr.isValidCIDR(text) && !text.endsWith('/0'))

/** Makes TRUST_PROXY the option `trustProxy` of Fastify. */
export function trustedProxies(
  text = ''
): string | ((address: string, hop: number) => boolean) {
  if (!isHopCount(text)) return text
  // Fastify would trust no proxy at all if it got the number.
  const trustedHops = Number(text)
  return (_address, hop) => hop < trustedHops
}
