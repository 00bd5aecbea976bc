// The parameter `sslmode` of DATABASE_URL, as node-postgres applies it: in its
// next major version, it will trust any server in the modes of libpq.

/** Modes that node-postgres applies as they are. */
const exactModes = ['disable', 'no-verify', 'verify-full']

/** Modes of libpq, which node-postgres applies as verify-full. */
const strictModes = ['allow', 'prefer', 'require', 'verify-ca']

/** A parameter that is meant to be the mode: its name and its value. */
const parameter = /[?&](ssl[_-]?mode)=([^&,]*)/gi

const strictMode = new RegExp(
  `(?<=[?&]sslmode=)(${strictModes.join('|')})(?=[&,]|$)`,
  'g'
)

/** Whether the URL asks node-postgres to apply the modes as libpq does. */
const isLibpqCompatible = (url: string) => url.includes('uselibpqcompat=true')

/**
 * Returns the mistakes in the mode: it would have no effect, or another one.
 *
 * @param url the URLs of the servers, separated by commas
 * @returns texts that complete "DATABASE_URL must …"
 */
export const tlsMistakesIn = (url: string): string[] =>
  [...url.matchAll(parameter)].flatMap(([, name = '', mode = '']) => {
    if (name !== 'sslmode') return [`have sslmode instead of ${name}`]
    if (strictModes.includes(mode) || exactModes.includes(mode)) return []
    return [`have one of these as sslmode: ${exactModes.join(', ')}`]
  })

/** The modes that the URL has, and that are applied as verify-full. */
export const strictModesIn = (url: string): string[] =>
  isLibpqCompatible(url) ? [] : (url.match(strictMode) ?? [])

/**
 * The URL with the modes that are applied. Without this, node-postgres writes
 * eight lines to stderr.
 */
export const withExactModes = (url: string): string =>
  isLibpqCompatible(url) ? url : url.replace(strictMode, 'verify-full')
