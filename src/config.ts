import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import envSchema, { type EnvSchemaData } from 'env-schema'
import { Ajv, type ErrorObject } from 'ajv'
import type { FromSchema } from 'json-schema-to-ts'
import { explain } from './explain.ts'

/** Every environment variable that the service reads; times are in milliseconds, sizes in bytes. */
export const configSchema = {
  type: 'object',
  additionalProperties: false,
  required: [],
  properties: {
    PORT: { type: 'integer', minimum: 0, maximum: 65535, default: 3000, description: 'Port to listen on' },
    HOST: { type: 'string', default: '127.0.0.1', description: 'Address to listen on; the image sets 0.0.0.0' },
    DATABASE_URL: {
      type: 'string',
      pattern: '^postgres(ql)?://',
      description: 'PostgreSQL 15 to 18, encoded in UTF-8; without it the embedded Postgres is used'
    },
    DATABASE_URL_FILE: { type: 'string', description: 'File that holds DATABASE_URL, in its place' },
    DATA_DIR: { type: 'string', default: './.data', description: 'Folder of the embedded Postgres' },
    DATABASE_POOL_SIZE: {
      type: 'integer',
      minimum: 1,
      maximum: 1000,
      default: 10,
      description: 'Maximum database connections for requests; notifications and background writes have one more each'
    },
    DATABASE_TIMEOUT: {
      type: 'integer',
      minimum: 100,
      maximum: 86400000,
      default: 5000,
      description: 'Time to connect to the database in, and to run a statement in; 503 beyond it'
    },
    MIGRATE_ON_START: {
      type: 'boolean',
      default: true,
      description: 'Whether to run the migrations at start; false leaves them to `npm run migrate`'
    },
    DATABASE_SERVICE_ROLE: {
      type: 'string',
      description:
        'Database role that the migrations allow what the service needs, when it is not the one of DATABASE_URL'
    },
    LOG_LEVEL: {
      type: 'string',
      enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      default: 'info',
      description: 'Least severe level that is logged'
    },
    TRUST_PROXY: {
      type: 'string',
      description: 'Whose X-Forwarded-For is believed: a number of proxies, or their addresses and networks, by commas'
    },
    CORS_ORIGINS: {
      type: 'string',
      pattern: '^https?://[^\\s/,]+(,https?://[^\\s/,]+)*$',
      description: 'Origins whose pages may call the API, by commas: https://example.com; without it, none'
    },
    RATE_LIMIT_MAX: {
      type: 'integer',
      minimum: 0,
      default: 60000,
      description: 'Requests a minute with one key, for each replica; 429 beyond it; 0 for any number'
    },
    AUTH_FAILURES_MAX: {
      type: 'integer',
      minimum: 0,
      default: 60,
      description:
        'Refused keys a minute from one address, for each replica; 429 beyond it, but for keys that were valid; 0 for any number'
    },
    BODY_LIMIT: {
      type: 'integer',
      minimum: 1,
      default: 65536,
      description: 'Largest request body that is read; 413 beyond it'
    },
    HEADER_LIMIT: {
      type: 'integer',
      minimum: 1024,
      default: 16384,
      description: 'Largest header section that is read; 431 beyond it'
    },
    RESPONSE_MEMORY: {
      type: 'integer',
      minimum: 0,
      default: 134217728,
      description: 'Largest size of lists that clients have yet to read; 503 beyond it'
    },
    ENVIRONMENT: {
      type: 'string',
      enum: ['development', 'staging', 'production'],
      default: 'development',
      description: 'Named on the docs page, and its colour'
    },
    HEADERS_TIMEOUT: {
      type: 'integer',
      minimum: 1,
      maximum: 86400000,
      default: 10000,
      description: 'Time for the headers of a request to arrive in; 408 beyond it'
    },
    REQUEST_TIMEOUT: {
      type: 'integer',
      minimum: 1,
      maximum: 86400000,
      default: 30000,
      description: 'Time for the whole of a request to arrive in; 408 beyond it'
    },
    ANSWER_TIMEOUT: {
      type: 'integer',
      minimum: 1,
      maximum: 86400000,
      default: 60000,
      description: 'Time for a client to read the next 256 KiB of a list, after which its connection is closed'
    },
    KEEP_ALIVE_TIMEOUT: {
      type: 'integer',
      minimum: 1,
      maximum: 86400000,
      default: 72000,
      description: 'Time without a request after which a connection is closed'
    },
    IDLE_TIMEOUT: {
      type: 'integer',
      minimum: 1,
      maximum: 86400000,
      default: 120000,
      description: 'Time in which nobody sends or reads a byte, after which a connection is closed'
    },
    MAX_CONNECTIONS: {
      type: 'integer',
      minimum: 1,
      default: 4096,
      description: 'Connections at most; one more is closed'
    },
    METRICS_PORT: {
      type: 'integer',
      minimum: 0,
      maximum: 65535,
      description: 'Port of /metrics for Prometheus, which needs no key; without it, none'
    },
    SHUTDOWN_DELAY: {
      type: 'integer',
      minimum: 0,
      maximum: 86400000,
      default: 0,
      description: 'Time at shutdown in which requests are still taken, while /readyz is a 503 already'
    },
    SHUTDOWN_TIMEOUT: {
      type: 'integer',
      minimum: 1,
      maximum: 86400000,
      default: 10000,
      description: 'Time for requests in flight to end at shutdown, after SHUTDOWN_DELAY; then connections are closed'
    }
  }
} as const

export type Config = Omit<FromSchema<typeof configSchema>, 'DATABASE_URL_FILE'>

/** Whether the proxy at the address is believed; `hop` counts from 0, the one that is nearest to us. */
type TrustFunction = (address: string, hop: number) => boolean

/**
 * The proxies of TRUST_PROXY as Fastify takes them: a rule for so many of them, or their addresses and networks; false for none.
 *
 * @throws Error that names the variable
 */
export function trustedProxies(text: string | undefined): TrustFunction | string[] | false {
  if (text === undefined) return false
  if (/^\d{1,3}$/.test(text)) return (_address, hop) => hop < Number(text)
  const networks = text.split(',').map((one) => one.trim())
  const isNetwork = (network: string) => {
    const [address = '', prefix, ...rest] = network.split('/')
    const bits = { 4: 32, 6: 128 }[isIP(address)]
    return (
      bits !== undefined &&
      rest.length === 0 &&
      (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
    )
  }
  const wrong = networks.find((network) => !isNetwork(network))
  if (wrong !== undefined) {
    throw new Error(`TRUST_PROXY must be a number or addresses such as 10.0.0.0/8, not ${JSON.stringify(wrong)}`)
  }
  return networks
}

/**
 * The configuration: the given environment, and for what it lacks the file of variables, which need not exist, and the
 * defaults. An empty variable counts as absent.
 *
 * @throws Error that names each wrong variable and what it must be; a value that may be secret is not in it
 */
export function loadConfig(environment: NodeJS.ProcessEnv, file = '.env'): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const { DATABASE_URL_FILE: urlFile, ...config } = check({ dotenv: { path: file }, data: given })
  if (urlFile === undefined) return config
  if (config.DATABASE_URL !== undefined) throw new Error('DATABASE_URL and DATABASE_URL_FILE must not both be set')
  let url: string
  try {
    url = readFileSync(urlFile, 'utf8').trim()
  } catch (error) {
    throw new Error(`DATABASE_URL_FILE must name a file that can be read: ${(error as Error).message}`, {
      cause: error
    })
  }
  return { ...check({ data: { DATABASE_URL: url } }), ...config, DATABASE_URL: url }
}

// As env-schema makes it, and with the wrong value in each error.
const ajv = new Ajv({ allErrors: true, removeAdditional: true, useDefaults: true, coerceTypes: true, verbose: true })

function check(source: { dotenv?: { path: string }; data: EnvSchemaData }): FromSchema<typeof configSchema> {
  try {
    return envSchema<FromSchema<typeof configSchema>>({ ...source, env: false, schema: { ...configSchema }, ajv })
  } catch (error) {
    const { errors } = error as { errors?: ErrorObject[] }
    if (errors === undefined) throw error
    throw new Error(errors.map((one) => explain(one, '')).join('\n'), { cause: error })
  }
}
