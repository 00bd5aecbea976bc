import { lookUp } from '../../src/postgres/embedded/running.ts'

/** The URL of the server that runs on the data in `directory`, if one responds. */
export async function findRunning(directory: string): Promise<string | undefined> {
  const running = await lookUp(directory)
  await running?.client.end()
  return running?.url
}
