import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import type { FreshClone } from './fresh-clone.ts'
import { type Clients, underLoad } from './under-load.ts'

/** An installation with Docker Compose, from a clone. */
export class ComposeInstallation {
  readonly #clone: FreshClone
  readonly #url: string

  constructor(clone: FreshClone, url: string) {
    this.#clone = clone
    this.#url = url
  }

  /** Sets a variable in .env, as an operator does. */
  configure = (name: string, value: string): void => {
    const file = path.join(this.#clone.folder, '.env')
    const lines = readFileSync(file, 'utf8').trim().split('\n')
    const others = lines.filter((line) => !line.startsWith(`${name}=`))
    writeFileSync(file, [...others, `${name}=${value}`, ''].join('\n'))
  }

  /** The containers of each service but `migrate`, with stopped ones. */
  containersByService = async (): Promise<Record<string, string[]>> => {
    const ids: Record<string, string[]> = {}
    const format = '{{.Service}} {{.ID}}'
    const lines = await this.#clone.sh(
      `docker compose ps -a --format '${format}' | grep -v ^migrate | sort`
    )
    for (const line of lines.split('\n')) {
      const [service = '', id = ''] = line.split(' ')
      ids[service] = [...(ids[service] ?? []), id]
    }
    return ids
  }

  /** `docker compose up -d` must keep every container that has not changed. */
  upReplacesNothing = async (t: Test): Promise<void> => {
    const before = await this.containersByService()
    await this.#clone.sh('docker compose up -d --wait')
    t.same(await this.containersByService(), before)
  }

  /** Runs commands while clients create, see `underLoad`. */
  underLoad = (
    t: Test,
    key: string,
    run: (clients: Clients) => Promise<unknown>,
    expected: string[] = []
  ): Promise<void> => underLoad(t, { url: this.#url, key }, run, expected)
}
