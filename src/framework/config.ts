import { readEnvFile, readText } from './config/env-file.ts'
import type { Variable } from './config/kinds.ts'
import { suggestName } from './config/misspelt.ts'
import {
  strictModesIn,
  tlsMistakesIn,
  withExactModes
} from './config/tls-mode.ts'
import {
  commonVariables,
  formerNames,
  rarelyNeededVariables
} from './config/variables.ts'

export { trustedProxies } from './config/trust-proxy.ts'

const variables = { ...commonVariables, ...rarelyNeededVariables }
const names = Object.keys(variables)

type Variables = typeof variables
type Name = keyof Variables
type OptionalName = {
  [N in Name]: Variables[N]['default'] extends undefined ? N : never
}[Name]
type Value<N extends Name> = NonNullable<ReturnType<Variables[N]['parse']>>

/** The value of each variable; those without a default may be missing. */
export type Config = { [N in Exclude<Name, OptionalName>]: Value<N> } & {
  [N in OptionalName]?: Value<N>
}

type Environment = NodeJS.Dict<string>

/** Receives a line about a variable that is ignored or unusual. */
type Report = (line: string) => void

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
  environment: Environment,
  file = '.env',
  report: Report = console.error
): Config {
  const fromFile = readEnvFile(file, names)
  reportUnknown(fromFile, file, report)
  reportMisspelt(environment, report)

  const texts = { ...withoutEmpty(fromFile), ...withoutEmpty(environment) }
  rejectFormerNames(texts)
  const config = parse(withDatabaseUrl(texts))
  rejectEqualPorts(config)

  return withTlsMode(config, report)
}

const withoutEmpty = (texts: Environment): Environment =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''))

const isUnknown = (name: string) =>
  !Object.hasOwn(variables, name) && !Object.hasOwn(formerNames, name)

function reportUnknown(
  fromFile: Environment,
  file: string,
  report: Report
): void {
  const unknown = Object.keys(fromFile)
    .filter(isUnknown)
    // A value broken over two lines would make its second line, perhaps a
    // secret, look like a name: do not print it.
    .filter((name) => /^\w+$/.test(name))

  for (const name of unknown) {
    const meant = suggestName(name, names)
    const hint = meant && `did you mean ${meant}?`
    report(`${file}: ignoring ${name}: ${hint ?? 'no variable has this name'}`)
  }
}

/** Other programs also have variables: reports only likely typing errors. */
function reportMisspelt(environment: Environment, report: Report): void {
  for (const name of Object.keys(environment).filter(isUnknown)) {
    const meant = suggestName(name, names)
    if (meant !== undefined && environment[meant] === undefined)
      report(`environment: ignoring ${name}: did you mean ${meant}?`)
  }
}

/** A former name must not be ignored: the limit that it set would be gone. */
function rejectFormerNames(texts: Environment): void {
  const mistakes = Object.entries(formerNames)
    .filter(([formerName]) => texts[formerName] !== undefined)
    .map(([formerName, name]) => `${formerName} is now ${name}: rename it`)
  throwIfAny(mistakes)
}

/** Reads DATABASE_URL from DATABASE_URL_FILE, if that is set. */
function withDatabaseUrl(texts: Environment): Environment {
  const { DATABASE_URL, DATABASE_URL_FILE: file } = texts
  if (file === undefined) return texts
  if (DATABASE_URL !== undefined)
    throw new Error('DATABASE_URL and DATABASE_URL_FILE must not both be set')

  const url = readText(file, 'DATABASE_URL_FILE').trim()
  if (variables.DATABASE_URL.parse(url) === undefined) {
    throw new Error(
      'DATABASE_URL_FILE must contain a URL that starts with postgres://'
    )
  }

  return { ...texts, DATABASE_URL: url }
}

function parse(texts: Environment): Config {
  const mistakes: string[] = []

  function valueOf([name, variable]: [string, Variable<unknown, unknown>]) {
    const text = texts[name]
    if (text === undefined) return [name, variable.default]
    const value = variable.parse(text)
    if (value === undefined) mistakes.push(`${name} must ${variable.rule}`)

    return [name, value]
  }

  const values = Object.entries(variables).map(valueOf)
  throwIfAny(mistakes)

  // Each value is its variable's default, or what its parse() has returned.
  return Object.fromEntries(values) as Config
}

function rejectEqualPorts({ PORT, METRICS_PORT }: Config): void {
  if (PORT !== 0 && PORT === METRICS_PORT)
    throw new Error(`METRICS_PORT must not be ${PORT}, the value of PORT`)
}

/** Rejects an sslmode without effect, and reports one with another effect. */
function withTlsMode(config: Config, report: Report): Config {
  const { DATABASE_URL: url } = config
  if (url === undefined) return config

  const mistakes = tlsMistakesIn(url)
  throwIfAny(mistakes.map((mistake) => `DATABASE_URL must ${mistake}`))

  for (const mode of strictModesIn(url)) {
    report(
      `DATABASE_URL: sslmode=${mode} is applied as verify-full: write that`
    )
  }

  return { ...config, DATABASE_URL: withExactModes(url) }
}

function throwIfAny(mistakes: string[]): void {
  if (mistakes.length > 0) throw new Error(mistakes.join('\n'))
}
