/** A time in milliseconds, at most a day. */
const time = (byDefault: number, description: string, minimum = 1) =>
  ({ type: 'integer', minimum, maximum: 86_400_000, default: byDefault, description }) as const

/** A count, or a size in bytes. */
const number = (byDefault: number, description: string, minimum = 1) =>
  ({ type: 'integer', minimum, default: byDefault, description }) as const

const text = (description: string) => ({ type: 'string', description }) as const

const port = { type: 'integer', minimum: 0, maximum: 65535 } as const

/**
 * Every environment variable of the service. `npm run generate` writes .env.example and the table in README.md from it.
 * `must` completes the error message where the one of Ajv would show a pattern or a type.
 */
export const configSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    PORT: { ...port, default: 3000, description: 'Port to listen on' },
    HOST: { ...text('Address to listen on. The container image sets 0.0.0.0.'), default: '127.0.0.1' },
    DATABASE_URL: {
      ...text('PostgreSQL 15 to 18 with the encoding UTF-8. Without it, the embedded PostgreSQL runs.'),
      pattern: '^postgres(ql)?://',
      must: 'start with postgres://'
    },
    DATABASE_URL_FILE: text('File to read DATABASE_URL from, instead of the variable'),
    DATA_DIR: { ...text('Folder of the embedded PostgreSQL'), default: './.data' },
    DATABASE_POOL_SIZE: {
      ...number(
        10,
        'Maximum database connections for requests. Notifications and background writes have one more each.'
      ),
      maximum: 1000
    },
    DATABASE_TIMEOUT: time(5000, 'Time to connect to the database, and to run a statement, then 503', 100),
    MIGRATE_ON_START: {
      type: 'boolean',
      default: true,
      description: 'Whether to migrate DATABASE_URL at start. If false, run `npm run migrate`.',
      must: 'be true or false'
    },
    DATABASE_SERVICE_ROLE: text('Role to grant the privileges of the service to, if another role runs the migrations'),
    LOG_LEVEL: {
      ...text('Minimum level to log'),
      enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      default: 'info'
    },
    TRUST_PROXY: {
      ...text('Trusted proxies: hop count or comma-separated networks'),
      format: 'proxies',
      must: 'be a hop count such as 1, or comma-separated addresses and networks such as 10.0.0.0/8'
    },
    CORS_ORIGINS: {
      ...text('Comma-separated origins whose pages may call the API, such as https://example.com'),
      pattern: '^https?://[^\\s/,]+(,https?://[^\\s/,]+)*$',
      must: 'be comma-separated origins such as https://example.com'
    },
    RATE_LIMIT_MAX: number(60_000, 'Requests per minute for each key and replica, then 429. 0 disables the limit.', 0),
    AUTH_FAILURES_MAX: number(
      60,
      'Rejected keys per minute for each address and replica, then 429. 0 disables the limit.',
      0
    ),
    BODY_LIMIT: number(65_536, 'Maximum size of a request body. Larger ones get 413.'),
    HEADER_LIMIT: number(16_384, 'Maximum size of the header section. Larger ones get 431.', 1024),
    RESPONSE_MEMORY: number(134_217_728, 'Memory limit for buffered responses, then 503', 0),
    ENVIRONMENT: {
      ...text('Environment, shown on the docs page'),
      enum: ['development', 'staging', 'production'],
      default: 'development'
    },
    HEADERS_TIMEOUT: time(10_000, 'Time to receive the headers of a request, then 408'),
    REQUEST_TIMEOUT: time(30_000, 'Time to receive a complete request, then 408'),
    ANSWER_TIMEOUT: time(60_000, 'Time for a client to read the next 2 MiB of a list before its connection is closed'),
    KEEP_ALIVE_TIMEOUT: time(72_000, 'Time between two requests before a connection is closed'),
    IDLE_TIMEOUT: time(120_000, 'Idle connection timeout: time without a byte in either direction'),
    MAX_CONNECTIONS: number(4096, 'Maximum open connections. Further ones are closed.'),
    METRICS_PORT: {
      ...port,
      description: 'Port of /metrics for Prometheus, without a key. Without it, there is none.'
    },
    SHUTDOWN_DELAY: time(0, 'Time to keep serving requests at shutdown, while /readyz already returns 503', 0),
    SHUTDOWN_TIMEOUT: time(10_000, 'Time to finish open requests after SHUTDOWN_DELAY before connections are closed')
  }
} as const
