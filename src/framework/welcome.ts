/**
 * What a developer needs first: the docs page, a request, and its API key.
 *
 * @param path a path to try with GET
 * @param apiKey a key that was just created, or undefined if there are others
 */
export function welcome(
  url: string,
  path: string,
  apiKey: string | undefined
): string {
  const origin = url.replace('[::]', 'localhost')
  const authorization = `Authorization: Bearer ${apiKey ?? '<API_KEY>'}`
  const hint =
    apiKey === undefined
      ? 'Create a key'
      : 'This key is shown once. Create another'

  return `
  Docs    ${origin}/docs
  Try it  curl ${origin}${path} -H '${authorization}'

  ${hint}: npm run keys -- create --name NAME
`
}
