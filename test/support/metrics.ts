import { register } from 'prom-client'

/** The text of an endpoint, or of the metrics of this process. */
type Text = string | Promise<string>

/**
 * The value of a sample, such as `name{label="value"}`; undefined if there is
 * no such sample.
 *
 * @param text by default, the metrics of this process
 */
export async function sample(
  name: string,
  text: Text = register.metrics()
): Promise<number | undefined> {
  const lines = (await text).split('\n')
  const line = lines.find((one) => one.startsWith(`${name} `))
  if (line === undefined) return undefined

  const value = line.slice(name.length).replace('Inf', 'Infinity')

  return Number(value)
}
