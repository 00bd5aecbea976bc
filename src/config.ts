import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parseEnv } from 'node:util'
import { Ajv, type ErrorObject } from 'ajv'
import ipaddr from 'ipaddr.js'
import type { FromSchema } from 'json-schema-to-ts'

/** The name of the service in PostgreSQL and in the challenge of a 401. */
export const serviceName = 'pet-categories'

/** Milliseconds, at most a day. */
const time = (byDefault: number, description: string, minimum = 1) =>
  ({
    type: 'integer',
    minimum,
    maximum: 86_400_000,
    default: byDefault,
    description
  }) as const
/** A count, or a size in bytes. */
const number = (
  byDefault: number,
  description: string,
  minimum = 1,
  maximum = Number.MAX_SAFE_INTEGER
) =>
  ({
    type: 'integer',
    minimum,
    maximum,
    default: byDefault,
    description
  }) as const
const text = (description: string) => ({ type: 'string', description }) as const
const choice = <const Value extends string>(
  values: Value[],
  byDefault: Value,
  description: string
) => ({ enum: values, default: byDefault, description }) as const
const port = (description: string) =>
  ({ type: 'integer', minimum: 0, maximum: 65535, description }) as const

/**
 * Every environment variable of the service. `npm run generate` writes .env.example and the table in README.md from it.
 * `must` completes the error message where it would show a pattern or a type.
 */
export const configSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    PORT: { ...port('Port to listen on'), default: 3000 },
    HOST: {
      ...text('Address to listen on. The container image sets 0.0.0.0.'),
      default: '127.0.0.1'
    },
    DATABASE_URL: {
      ...text(
        'URL of PostgreSQL 15 to 18 (UTF-8), or several, comma-separated. If unset, an embedded one runs.'
      ),
      pattern: '^postgres(ql)?://',
      must: 'start with postgres://'
    },
    DATABASE_URL_FILE: text(
      'File to read DATABASE_URL from, instead of the variable'
    ),
    DATA_DIR: {
      ...text('Folder of the embedded PostgreSQL'),
      default: './.data'
    },
    MAX_DATABASE_CONNECTIONS: number(
      10,
      'Maximum connections for requests. Background writes use one more.',
      1,
      1000
    ),
    DATABASE_TIMEOUT_MS: time(
      5000,
      'Time to connect to the database, and to run a statement, then 503',
      100
    ),
    MIGRATE_ON_START: {
      type: 'boolean',
      default: true,
      description:
        'Whether to migrate DATABASE_URL at start. If false, run `npm run migrate`.',
      must: 'be true or false'
    },
    DATABASE_SERVICE_ROLE: text(
      'Role to grant the privileges of the service to, if another role runs the migrations'
    ),
    LOG_LEVEL: choice(
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      'info',
      'Minimum level to log'
    ),
    TRUST_PROXY: {
      ...text('Trusted proxies: hop count or comma-separated networks'),
      format: 'proxies',
      must: 'be a hop count such as 1, or comma-separated addresses and networks such as 10.0.0.0/8'
    },
    CORS_ORIGINS: {
      ...text(
        'Comma-separated origins whose pages may call the API, such as https://example.com'
      ),
      pattern: '^https?://[^\\s/,]+(,https?://[^\\s/,]+)*$',
      must: 'be comma-separated origins such as https://example.com'
    },
    MAX_REQUESTS_PER_MINUTE: number(
      60_000,
      'Requests per minute for each key and replica, then 429. 0 disables the limit.',
      0
    ),
    MAX_REJECTED_KEYS_PER_MINUTE: number(
      60,
      'Rejected keys per minute for each address, then 429. 0 disables the limit.',
      0
    ),
    MAX_BODY_BYTES: number(
      65_536,
      'Maximum size of a request body. Larger ones get 413.'
    ),
    MAX_HEADER_BYTES: number(
      16_384,
      'Maximum size of the header section. Larger ones get 431.',
      1024
    ),
    MAX_RESPONSE_BYTES: number(
      134_217_728,
      'Memory limit for buffered responses, then 503',
      0
    ),
    IDEMPOTENCY_KEY_HOURS: number(
      24,
      'Hours for which an Idempotency-Key is kept, at least',
      24,
      8760
    ),
    ENVIRONMENT: choice(
      ['development', 'staging', 'production'],
      'development',
      'Environment, shown on the docs page'
    ),
    HEADERS_TIMEOUT_MS: time(
      10_000,
      'Time to receive the headers of a request, then 408'
    ),
    REQUEST_TIMEOUT_MS: time(
      30_000,
      'Time to receive a complete request, then 408'
    ),
    RESPONSE_TIMEOUT_MS: time(
      60_000,
      'Time for a client to read the next 2 MiB of a body before its connection is closed'
    ),
    KEEP_ALIVE_TIMEOUT_MS: time(
      72_000,
      'Time between two requests before a connection is closed'
    ),
    IDLE_TIMEOUT_MS: time(
      120_000,
      'Idle connection timeout: time without a byte in either direction'
    ),
    MAX_CONNECTIONS: number(
      4096,
      'Maximum open connections. Further ones are closed.'
    ),
    METRICS_PORT: port(
      'Port of /metrics for Prometheus, without a key. If unset, metrics are off.'
    ),
    SHUTDOWN_DELAY_MS: time(
      0,
      'Time to keep serving requests at shutdown, while /readyz already returns 503',
      0
    ),
    SHUTDOWN_TIMEOUT_MS: time(
      10_000,
      'Time to finish open requests after SHUTDOWN_DELAY_MS before connections are closed'
    )
  }
} as const

/** Times are in milliseconds, sizes in bytes. */
export type Config = FromSchema<typeof configSchema>

/** TRUST_PROXY as Fastify's `trustProxy`. Given a hop count as a number, Fastify would trust no proxy at all. */
export const trustedProxies = (
  text = ''
): string | ((address: string, hop: number) => boolean) =>
  /^\d+$/.test(text) ? (_address, hop) => hop < Number(text) : text

// ipaddr.js alone accepts 10.1 as an address, and Fastify rejects the prefix length 0.
const isNetwork = (text: string) =>
  isIP(text.replace(/\/.*/, '')) > 0 &&
  (ipaddr.isValid(text) || (ipaddr.isValidCIDR(text) && !/\/0+$/.test(text)))

const validate = new Ajv({
  allErrors: true,
  coerceTypes: true,
  removeAdditional: true,
  useDefaults: true,
  verbose: true,
  keywords: ['must'],
  formats: {
    proxies: (text: string) =>
      /^\d{1,3}$/.test(text) || text.split(/, */).every(isNetwork)
  }
}).compile<Config>(configSchema)

/**
 * Reads the configuration from the environment, then the file, then the defaults. An empty variable counts as unset. The file
 * may be missing; unknown names in it are reported on stderr.
 *
 * @throws Error that names each invalid variable and what it must be, without values that may be secret
 */
export function loadConfig(
  environment: NodeJS.ProcessEnv,
  file = '.env'
): Config {
  const fromFile = existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {}
  // The second line of a value that is broken over two lines may parse as a name that is secret.
  const isUnknown = (name: string) =>
    /^\w+$/.test(name) && !Object.hasOwn(configSchema.properties, name)
  const unknown = Object.keys(fromFile).filter(isUnknown).join(', ')
  if (unknown !== '')
    console.error(
      `pet-categories: ${file}: ignoring unknown variables: ${unknown}`
    )
  const given = [...Object.entries(fromFile), ...Object.entries(environment)]
  const variables = Object.fromEntries(
    given.filter(([, value]) => value !== '')
  )
  const { DATABASE_URL: url, DATABASE_URL_FILE: urlFile } = variables
  if (urlFile !== undefined) {
    if (url !== undefined)
      throw new Error('DATABASE_URL and DATABASE_URL_FILE must not both be set')
    variables['DATABASE_URL'] = readUrl(urlFile)
  }
  if (!validate(variables))
    throw new Error(validate.errors?.map(explain).join('\n'))
  return variables
}

/** Names a variable and what it must be. */
function explain({ instancePath, parentSchema, message }: ErrorObject): string {
  const { must, enum: choices } = parentSchema as {
    must?: string
    enum?: string[]
  }
  const rule = must === undefined ? message : `must ${must}`
  return `${instancePath.slice(1)} ${choices === undefined ? rule : `must be one of: ${choices.join(', ')}`}`
}

function readUrl(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new Error(
      `DATABASE_URL_FILE must name a readable file: ${(error as Error).message}`,
      { cause: error }
    )
  }
}
