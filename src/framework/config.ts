import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseEnv } from 'node:util'
import { Ajv, type ErrorObject } from 'ajv'
import ipaddr from 'ipaddr.js'
import { closestMatch } from 'leven'
import { messageOf } from './message-of.ts'
import {
  commonVariables,
  rarelyNeededVariables,
  type Variable
} from './variables.ts'

const variables = { ...commonVariables, ...rarelyNeededVariables }
const names = Object.keys(variables)

type Variables = typeof variables
type Name = keyof Variables
type NameWithDefault = {
  [N in Name]: Variables[N] extends { default: unknown } ? N : never
}[Name]

type Value<V> = V extends { enum: readonly (infer Word)[] }
  ? Word
  : V extends { type: 'boolean' }
    ? boolean
    : V extends { type: 'string' }
      ? string
      : number

/** The value of each variable; those without a default may be missing. */
export type Config = { [N in NameWithDefault]: Value<Variables[N]> } & {
  [N in Exclude<Name, NameWithDefault>]?: Value<Variables[N]>
}

type Texts = NodeJS.Dict<string>

/** Receives a line about a variable that is ignored or unusual. */
type Report = (line: string) => void

/** Typing errors that a misspelt name may have, at most. */
const maxTypingErrors = 2

/** Characters of a name for each typing error: short names are alike. */
const lengthPerTypingError = 4

const isHopCount = (text: string) => /^\d{1,3}$/.test(text)

const validate = new Ajv({
  allErrors: true,
  coerceTypes: true,
  useDefaults: true,
  verbose: true,
  formats: {
    proxies: (text) => isHopCount(text) || text.split(/, */).every(isNetwork)
  },
  keywords: ['rule']
}).compile<Config>({ type: 'object', properties: variables })

/**
 * Reads the configuration from the environment, then the file, then the
 * defaults. An empty variable counts as unset. The file may be missing. Names
 * that are probably misspelt are reported, and so are all unknown names in the
 * file.
 *
 * @throws Error with a line for each mistake, which names the variable and what
 *   it must be, without values that may be secret
 */
export function loadConfig(
  environment: Texts,
  file = '.env',
  report: Report = console.error
): Config {
  const fromFile = readEnvFile(file)
  reportUnknown(fromFile, file, report)
  reportMisspelt(environment, report)

  const texts = { ...withoutEmpty(fromFile), ...withoutEmpty(environment) }
  const config = withTypes(withDatabaseUrl(texts))

  const { DATABASE_URL: url, PORT, METRICS_PORT } = config
  if (PORT !== 0 && PORT === METRICS_PORT)
    throw new Error(`METRICS_PORT must not be ${PORT}, the value of PORT`)

  return url === undefined
    ? config
    : { ...config, DATABASE_URL: withTlsMode(url, report) }
}

const withoutEmpty = (texts: Texts): Texts =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''))

/**
 * A value broken over two lines would make its second line, perhaps a secret,
 * look like a name: names have letters, digits and `_` only.
 */
const unknownIn = (texts: Texts): string[] =>
  Object.keys(texts).filter(
    (name) => !names.includes(name) && /^\w+$/.test(name)
  )

function reportUnknown(fromFile: Texts, file: string, report: Report): void {
  for (const name of unknownIn(fromFile)) {
    const meant = suggestName(name)
    const hint = meant ? `did you mean ${meant}?` : 'no variable has this name'
    report(`${file}: ignoring ${name}: ${hint}`)
  }
}

/** Other programs also have variables: reports only likely typing errors. */
function reportMisspelt(environment: Texts, report: Report): void {
  for (const name of unknownIn(environment)) {
    const meant = suggestName(name)
    if (meant !== undefined && environment[meant] === undefined)
      report(`environment: ignoring ${name}: did you mean ${meant}?`)
  }
}

/** The variable that a name is probably meant to be, if it is like one. */
function suggestName(name: string): string | undefined {
  const maxDistance = Math.min(
    maxTypingErrors,
    Math.floor(name.length / lengthPerTypingError)
  )
  return closestMatch(name.toUpperCase(), names, { maxDistance })
}

/** Reads lines NAME=value. */
function readEnvFile(file: string): Texts {
  if (!existsSync(file)) return {}
  const text = readText(file, file)
  const texts = parseEnv(text)

  for (const [, name = ''] of text.matchAll(/^\s*(\w+):/gm)) {
    if (names.includes(name) && texts[name] === undefined)
      throw new Error(`${file}: write ${name}=value instead of ${name}: value`)
  }

  return texts
}

/** @param source names the file in an error */
function readText(file: string, source: string): string {
  try {
    // Removes a byte order mark, with which Windows editors start a file.
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file))
  } catch (error) {
    const isEncoding = error instanceof TypeError
    const rule = isEncoding
      ? 'a text file in UTF-8'
      : `a readable file: ${messageOf(error)}`
    throw new Error(`${source} must be ${rule}`, { cause: error })
  }
}

/** Reads DATABASE_URL from DATABASE_URL_FILE, if that is set. */
function withDatabaseUrl(texts: Texts): Texts {
  const { DATABASE_URL, DATABASE_URL_FILE: file } = texts
  if (file === undefined) return texts
  if (DATABASE_URL !== undefined)
    throw new Error('DATABASE_URL and DATABASE_URL_FILE must not both be set')

  const url = readText(file, 'DATABASE_URL_FILE').trim()
  if (!url.startsWith('postgres')) {
    throw new Error(
      'DATABASE_URL_FILE must contain a URL that starts with postgres://'
    )
  }

  return { ...texts, DATABASE_URL: url }
}

/** @throws Error with a line for each value that breaks its rule */
function withTypes(texts: Texts): Config {
  const known = Object.entries(texts).filter(([name]) => names.includes(name))
  const values: unknown = Object.fromEntries(known)
  if (validate(values)) return values

  throw new Error(validate.errors?.map(describe).join('\n'))
}

function describe({ instancePath, parentSchema }: ErrorObject): string {
  const name = instancePath.slice(1)
  return `${name} must ${ruleOf(name, parentSchema as Variable)}`
}

/** Completes "NAME must …". */
function ruleOf(name: string, variable: Variable): string {
  const { type, rule, minimum, maximum } = variable
  if (rule !== undefined) return rule
  if (variable.enum) return `be one of: ${variable.enum.join(', ')}`
  if (type === 'boolean') return 'be true or false'

  const unit = units.find(([ending]) => name.endsWith(ending))?.[1] ?? ''
  const range =
    maximum === undefined
      ? `at least ${minimum}`
      : `from ${minimum} to ${maximum}`

  return `be a whole number${unit}, ${range}`
}

/** The unit of a name by its end. */
const units = [
  ['_MS', ' of milliseconds'],
  ['_BYTES', ' of bytes'],
  ['_HOURS', ' of hours']
] as const

/**
 * Checks `sslmode`, and writes the mode that node-postgres applies: it treats
 * those of libpq as verify-full, and explains that in eight lines on stderr.
 */
function withTlsMode(url: string, report: Report): string {
  const [, name, mode = ''] = /[?&](ssl[_-]?mode)=([^&]*)/i.exec(url) ?? []
  if (name === undefined || url.includes('uselibpqcompat=true')) return url
  if (name !== 'sslmode')
    throw new Error(`DATABASE_URL must have sslmode instead of ${name}`)
  if (/^(disable|no-verify|verify-full)$/.test(mode)) return url
  if (!/^(allow|prefer|require|verify-ca)$/.test(mode)) {
    throw new Error(
      'DATABASE_URL must have one of these as sslmode: ' +
        'disable, no-verify, verify-full'
    )
  }

  report(`DATABASE_URL: sslmode=${mode} is applied as verify-full: write that`)
  return url.replace(`sslmode=${mode}`, 'sslmode=verify-full')
}

/** Whether the text is an IP address, or a network such as 10.0.0.0/8. */
function isNetwork(text: string): boolean {
  const [address = '', prefixLength] = text.split('/', 2)
  // ipaddr.js alone accepts 10.1 as an address.
  if (isIP(address) === 0) return false
  // Fastify rejects the prefix length 0.
  const isEverything = Number(prefixLength) === 0

  return ipaddr.isValid(text) || (ipaddr.isValidCIDR(text) && !isEverything)
}

/** TRUST_PROXY as the option `trustProxy` of Fastify. */
export function trustedProxies(
  text = ''
): string | ((address: string, hop: number) => boolean) {
  if (!isHopCount(text)) return text
  // Fastify would trust no proxy at all if it got the number.
  const trustedHops = Number(text)
  return (_address, hop) => hop < trustedHops
}
