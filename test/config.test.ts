import path from 'node:path'
import t from 'tap'
import { loadConfig } from '../src/config.ts'

const DATABASE_URL = 'postgres://user:secret@host/db'

/** The lines that report what is wrong; none if nothing is. */
function mistakesIn(env: Record<string, string>): string[] {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    return (error as Error).message.split('\n')
  }
}

/** Wrong values, by the name of the variable. */
const wrongValues: Record<string, string[]> = {
  PORT: ['-1', '70000', '1.5', '0x10', '1e3', ' 7'],
  DATABASE_TIMEOUT_MS: ['0', '1s'],
  DATABASE_URL: [
    'mysql://user:secret@host/db',
    'postgres://user:#secret@host/db',
    'postgres://user:se/cret@host/db'
  ],
  CORS_ORIGINS: ['*', 'https://a.example,', 'https://Example.com']
}

for (const [name, values] of Object.entries(wrongValues)) {
  t.test(`a wrong ${name} is one line, without the value`, (t) => {
    for (const value of values) {
      const lines = mistakesIn({ DATABASE_URL, [name]: value })
      t.equal(lines.length, 1, value)
      t.match(lines[0], new RegExp(`^${name} must `))
      t.notMatch(lines[0], 'secret')
    }
    t.end()
  })
}

t.test('each of several mistakes has its line', (t) => {
  t.match(mistakesIn({ PORT: 'x', LOG_LEVEL: 'loud' }), [
    'PORT must be a port from 0 to 65535',
    'DATABASE_URL is required',
    /^LOG_LEVEL must be one of fatal, /
  ])
  t.end()
})

t.test('an empty variable counts as unset, and values have types', (t) => {
  const CORS_ORIGINS = 'http://example.com,http://[::1]:3000'
  const set = { DATABASE_URL, METRICS_PORT: '0', CORS_ORIGINS }
  t.match(loadConfig({ ...set, PORT: '' }), {
    PORT: 3000,
    METRICS_PORT: 0,
    CORS_ORIGINS
  })
  t.same(mistakesIn({ DATABASE_URL: '' }), ['DATABASE_URL is required'])
  t.end()
})

t.test('DATABASE_URL may come from a file of its own', (t) => {
  const file = path.join(t.testdir({ url: `\ufeff${DATABASE_URL}\n` }), 'url')
  t.equal(loadConfig({ DATABASE_URL_FILE: file }).DATABASE_URL, DATABASE_URL)
  t.same(mistakesIn({ DATABASE_URL, DATABASE_URL_FILE: file }), [
    'DATABASE_URL and DATABASE_URL_FILE must not both be set'
  ])
  t.match(mistakesIn({ DATABASE_URL_FILE: '/none/url' }), [
    /^DATABASE_URL_FILE must be readable: /
  ])
  t.end()
})
