/** Returns the status of a GET request. */
export async function status(
  url: string,
  headers: Record<string, string> = {}
): Promise<number> {
  const response = await fetch(url, { headers })
  await response.arrayBuffer()
  return response.status
}

/** Returns the names of the rows that the service at `url` lists. */
export async function listed(
  url: string,
  key: string,
  resource = 'categories'
): Promise<string[]> {
  const response = await fetch(`${url}/v1/${resource}`, {
    headers: { authorization: `Bearer ${key}` }
  })
  const rows = (await response.json()) as { name: string }[]
  return rows.map(({ name }) => name)
}

/** Returns the names that are not listed exactly once. */
export function notOnce(names: string[], list: string[]): string[] {
  const counts = new Map<string, number>()
  for (const name of list) counts.set(name, (counts.get(name) ?? 0) + 1)
  return names.filter((name) => counts.get(name) !== 1)
}

/** Returns the last line of an output. */
export const lastLine = (output: string): string =>
  output.split('\n').at(-1) ?? ''
