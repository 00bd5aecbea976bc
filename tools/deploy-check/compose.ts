// A copy of a fresh clone whose docker-compose.yml runs on a real engine.
import { rmSync } from 'node:fs'
import tap, { type Test } from 'tap'
import { operationsPages } from '../../test/support/documented-commands.ts'
import { Installation } from './installation.ts'
import type { Commands } from './under-load.ts'

export const proxyFile = 'deploy/haproxy.cfg'
export const project = 'petcat-compose-test'
export const installation = new Installation({
  pages: operationsPages,
  functions: 0,
  psql: 'docker compose exec -T db psql -U postgres -d pet_categories',
  environment: {
    COMPOSE_PROJECT_NAME: project,
    PUBLISH: '127.0.0.1:3907:8080',
    IMAGE: project,
    PROMETHEUS_PUBLISH: '127.0.0.1:3909',
    ALERTMANAGER_PUBLISH: '127.0.0.1:3910',
    MAX_REQUESTS_PER_MINUTE: '0',
    // Other work may share the processors.
    DATABASE_TIMEOUT_MS: '20000'
  }
})
installation.url = 'http://127.0.0.1:3907'
const { folder, read, sh, underLoad, write } = installation

/** Sets a variable: the last line with its name counts. */
export const configure = (name: string, value: string) =>
  write('.env', `${read('.env')}${name}=${value}\n`)

export const compose = (command: string, variables?: Record<string, string>) =>
  sh(`docker compose ${command}`, variables)

/** The ids of containers, with stopped ones, after their services. */
async function containers(): Promise<string[]> {
  const format = "'{{.Service}} {{.ID}}'"
  const lines = await compose(`ps -a --format ${format} | sort`)
  return lines.split('\n').filter((line) => !line.startsWith('migrate'))
}

export const replicas = async () =>
  (await compose('ps -aq api | sort')).split('\n')

/**
 * Runs commands under load, which replace all containers of some services, and
 * those of no other.
 *
 * @param expected the failures that they may cause
 */
export async function replaces(
  t: Test,
  services: string[],
  commands: Commands,
  expected: string[] = []
): Promise<void> {
  const before = await containers()
  await underLoad(t, commands, expected)
  const after = await containers()
  t.same(
    before.filter((container) => after.includes(container)),
    before.filter((container) => !services.includes(container.split(' ')[0]!))
  )
}

const remove = () =>
  sh(`
    docker rm -f $IMAGE-consumer
    docker compose down --volumes --remove-orphans --timeout 1
    docker image ls -q $IMAGE | sort -u | xargs -r docker image rm -f`)

// What a run that was cut off has left.
tap.before(remove)
tap.teardown(async () => {
  await remove()
  rmSync(folder, { recursive: true })
})

/** The id of the image of the service. */
export async function imageOfService(): Promise<string> {
  const [replica = ''] = await replicas()
  return sh(`docker inspect -f '{{.Image}}' ${replica}`)
}
