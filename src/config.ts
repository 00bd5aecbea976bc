import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseEnv } from 'node:util'
import { Ajv, type ErrorObject } from 'ajv'
import ipaddr from 'ipaddr.js'
import type { FromSchema } from 'json-schema-to-ts'
import { configSchema } from './config-schema.ts'
import { explain } from './schema-errors.ts'

/** How the service calls itself in PostgreSQL. */
export const serviceName = 'pet-categories'

/** Times are in milliseconds, sizes in bytes. */
export type Config = FromSchema<typeof configSchema>

const isHopCount = (text: string) => /^\d{1,3}$/.test(text)

// ipaddr.js alone would also accept 10.1 as an address, and Fastify rejects the prefix length 0.
const isNetwork = (text: string) =>
  isIP(text.replace(/\/.*/, '')) > 0 && (ipaddr.isValid(text) || (ipaddr.isValidCIDR(text) && !/\/0+$/.test(text)))

const isProxies = (text: string) => isHopCount(text) || text.split(',').every((network) => isNetwork(network.trim()))

/** TRUST_PROXY as Fastify's `trustProxy`. Given a hop count as a number, Fastify would trust no proxy at all. */
export const trustedProxies = (text = ''): string | ((address: string, hop: number) => boolean) =>
  isHopCount(text) ? (_address, hop) => hop < Number(text) : text

const validate = new Ajv({
  allErrors: true,
  coerceTypes: true,
  removeAdditional: true,
  useDefaults: true,
  verbose: true,
  keywords: ['must'],
  formats: { proxies: isProxies }
}).compile<Config>(configSchema)

/**
 * Reads the configuration from the environment, then from the file, then from the defaults. An empty variable counts as
 * absent, and the file need not exist. Unknown names in the file are reported on stderr.
 *
 * @throws Error that names each wrong variable and what it must be, without values that may be secret
 */
export function loadConfig(environment: NodeJS.ProcessEnv, file = '.env'): Config {
  const fromFile = existsSync(file) ? parseEnv(read(file, `${file} must be`)) : {}
  warnOfUnknown(Object.keys(fromFile), file)
  const variables = { ...withoutEmpty(fromFile), ...withoutEmpty(environment) }
  const { DATABASE_URL_FILE: urlFile } = variables
  if (urlFile !== undefined) {
    if (variables['DATABASE_URL'] !== undefined)
      throw new Error('DATABASE_URL and DATABASE_URL_FILE must not both be set')
    variables['DATABASE_URL'] = read(urlFile, 'DATABASE_URL_FILE must name').trim()
  }
  const config: object = variables
  if (!validate(config)) throw new Error(validate.errors?.map(describe).join('\n'))
  return config
}

function withoutEmpty(variables: NodeJS.Dict<string>): NodeJS.Dict<string> {
  return Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== ''))
}

function read(file: string, rule: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${rule} a file that can be read: ${(error as Error).message}`, { cause: error })
  }
}

function warnOfUnknown(names: string[], file: string): void {
  // The rest of a value that is broken over two lines also looks like a name, and may be secret.
  const unknown = names.filter((name) => /^\w+$/.test(name) && !Object.hasOwn(configSchema.properties, name))
  if (unknown.length > 0) console.error(`pet-categories: ${file}: ignoring unknown variables: ${unknown.join(', ')}`)
}

function describe(error: ErrorObject): string {
  const { must } = error.parentSchema as { must?: string }
  return must === undefined ? explain(error, '') : `${error.instancePath.slice(1)} must ${must}`
}
