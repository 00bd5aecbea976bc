import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { messageOf } from '../log.ts'

/**
 * Reads a text file.
 *
 * @param source names the file in an error
 * @throws Error when it cannot be read, or is not UTF-8
 */
export function readText(file: string, source: string): string {
  let contents: Buffer
  try {
    contents = readFileSync(file)
  } catch (error) {
    throw new Error(`${source} must be a readable file: ${messageOf(error)}`, {
      cause: error
    })
  }
  try {
    // Windows editors start a file with a byte order mark, which this removes.
    return new TextDecoder('utf-8', { fatal: true }).decode(contents)
  } catch (error) {
    throw new Error(`${source} must be a text file in UTF-8`, { cause: error })
  }
}

/**
 * Reads the variables in a file of lines NAME=value. The file may be missing.
 *
 * @throws Error when it cannot be read, is not UTF-8, or sets a variable by
 *   `NAME: value`, which would be ignored
 */
export function readEnvFile(
  file: string,
  knownNames: string[]
): NodeJS.Dict<string> {
  if (!existsSync(file)) return {}
  const text = readText(file, file)
  const variables = parseEnv(text)

  for (const [, name = ''] of text.matchAll(/^\s*(\w+):/gm)) {
    if (knownNames.includes(name) && variables[name] === undefined)
      throw new Error(`${file}: write ${name}=value instead of ${name}: value`)
  }

  return variables
}
