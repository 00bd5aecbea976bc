// Every environment variable of the service. `npm run generate` writes
// docs/configuration.md from it.
//
// A name says its unit: _MS is milliseconds, _BYTES bytes.
// A limit starts with MAX_.

/** A variable, as a JSON Schema of its value. */
export interface Variable {
  type: 'string' | 'integer' | 'boolean'
  /** What it is for. Completes the message about a wrong value, too. */
  description: string
  /** Left out if the variable may be unset. */
  default?: string | number | boolean
  enum?: readonly string[]
  minimum?: number
  maximum?: number
  pattern?: string
  /** See the formats in config.ts. */
  format?: string
}

const millisecondsOfADay = 86_400_000

const count = { type: 'integer', minimum: 0 } as const
const milliseconds = {
  type: 'integer',
  minimum: 1,
  maximum: millisecondsOfADay
} as const
const port = {
  type: 'integer',
  minimum: 0,
  maximum: 65_535
} as const

/** What most deployments set. */
export const commonVariables = {
  PORT: {
    ...port,
    default: 3000,
    description: 'Port to listen on. 0 takes a free one.'
  },

  HOST: {
    type: 'string',
    default: '127.0.0.1',
    description: 'Address to listen on. The container image sets 0.0.0.0.'
  },

  DATABASE_URL: {
    type: 'string',
    description:
      'URL of one PostgreSQL 15 to 18 (UTF-8), percent-encoded. ' +
      'If unset, the embedded one runs.',
    format: 'postgres'
  },

  DATABASE_URL_FILE: {
    type: 'string',
    description: 'File to read DATABASE_URL from, instead of the variable'
  },

  FIRST_API_KEY_FILE: {
    type: 'string',
    description:
      'File with an API key to store at start if the database has none'
  },

  DATA_DIR: {
    type: 'string',
    default: './.data',
    pattern: '^[^~$"\'\\s][^$]*(?<!\\s)$',
    description:
      'Folder of the embedded PostgreSQL, without ~ and $, ' +
      'and without quotes or spaces around it'
  },

  MIGRATE_ON_START: {
    type: 'boolean',
    default: true,
    description:
      'Whether to migrate DATABASE_URL at start. ' +
      'If false, run `npm run migrate`.'
  },

  ENVIRONMENT: {
    type: 'string',
    enum: ['development', 'staging', 'production'],
    default: 'development',
    description: 'Environment, which the docs page shows'
  },

  LOG_LEVEL: {
    type: 'string',
    enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
    description: 'Minimum level to log'
  },

  CORS_ORIGINS: {
    type: 'string',
    description:
      'Comma-separated origins whose pages may call the API, ' +
      'such as https://example.com',
    format: 'origins'
  },

  METRICS_PORT: {
    ...port,
    description:
      'Port of /metrics for Prometheus, without an API key; off if unset'
  },

  MAX_REQUESTS_PER_MINUTE: {
    ...count,
    default: 60_000,
    description:
      'Maximum requests per minute for each API key and replica; 0: no limit'
  }
} as const satisfies Record<string, Variable>

/**
 * What most deployments leave alone: limits that a proxy or an orchestrator
 * also has, and settings for large or unusual loads.
 */
export const rarelyNeededVariables = {
  DATABASE_TIMEOUT_MS: {
    ...milliseconds,
    default: 5000,
    // Above the lock_timeout of writes.
    minimum: 500,
    maximum: 60_000,
    description:
      'Time limit to connect to the database, and to run a statement; ' +
      '503 after it'
  },

  DATABASE_SERVICE_ROLE: {
    type: 'string',
    description:
      'Role to grant the privileges of the service to, ' +
      'if another role runs the migrations'
  },

  MAX_RESPONSE_BUFFER_BYTES: {
    ...count,
    default: 33_554_432,
    minimum: 1,
    // A longer text would not fit into a string of Node.js.
    maximum: 500_000_000,
    description:
      'Maximum size of a list, and of all responses over 64 KiB together: ' +
      'a new one cuts off clients that still read the oldest'
  },

  IDLE_TIMEOUT_MS: {
    ...milliseconds,
    default: 72_000,
    description:
      'Time without a byte before a connection is closed, above the idle ' +
      'timeout of the proxy'
  },

  SHUTDOWN_DELAY_MS: {
    ...milliseconds,
    default: 0,
    minimum: 0,
    description:
      'Time to keep serving requests at shutdown, ' +
      'while /readyz already returns 503'
  },

  SHUTDOWN_TIMEOUT_MS: {
    ...milliseconds,
    default: 10_000,
    description:
      'Time to finish open requests after SHUTDOWN_DELAY_MS ' +
      'before connections are closed'
  }
} as const satisfies Record<string, Variable>

export const variables = { ...commonVariables, ...rarelyNeededVariables }

/** The description, with the words that are allowed. */
export const descriptionOf = ({
  description,
  enum: words
}: Variable): string =>
  words === undefined ? description : `${description}: ${words.join(', ')}`
