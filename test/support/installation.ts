/** Returns the status of a GET request. */
export async function status(
  url: string,
  headers: Record<string, string> = {}
): Promise<number> {
  const response = await fetch(url, { headers })
  await response.arrayBuffer()
  return response.status
}

/** Returns the names of the categories that the service at `url` lists. */
export async function listed(url: string, key: string): Promise<string[]> {
  const response = await fetch(`${url}/v1/categories`, {
    headers: { authorization: `Bearer ${key}` }
  })
  const rows = (await response.json()) as { name: string }[]
  return rows.map(({ name }) => name)
}

/** Returns the last line of an output. */
export const lastLine = (output: string): string =>
  output.split('\n').at(-1) ?? ''
