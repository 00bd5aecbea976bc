/**
 * The options that npm has taken for its own, as in
 * `npm run keys create --name x`: without `--`, the script does not get them.
 * Without npm, there are none.
 *
 * @param names of options, without dashes
 * @returns those that are set, with dashes
 */
export const optionsTakenByNpm = (...names: string[]): string[] =>
  names
    .filter((name) => process.env[`npm_config_${name}`] !== undefined)
    .map((name) => `--${name}`)
    .filter((option) => !process.argv.includes(option))

/**
 * The same for `--scope`, an option that npm knows. An .npmrc may set it to a
 * scope of packages, which has no colon.
 *
 * @param knownScopes the scopes of the API
 */
export function scopeTakenByNpm(knownScopes: string[]): string[] {
  const scope = process.env['npm_config_scope'] ?? ''
  const isForApiKey = scope.includes(':') || knownScopes.includes(scope)
  return isForApiKey ? optionsTakenByNpm('scope') : []
}
