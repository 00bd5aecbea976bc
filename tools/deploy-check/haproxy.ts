import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../test/support/postgres.ts'
import { run } from '../../test/support/process.ts'
import { until } from '../../test/support/until.ts'

/**
 * Starts the proxy of compose in front of a replica, until the test ends.
 *
 * @param replica its URL
 */
export async function startHaproxy(
  t: Test,
  replica: string,
  variables: Record<string, string> = {}
) {
  const port = await freePort()
  const metricsPort = await freePort()
  const configuration = readFileSync('deploy/haproxy.cfg', 'utf8')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('bind :8405', `bind 127.0.0.1:${metricsPort}`)
    .replace('127.0.0.1:9999', `127.0.0.1:${await freePort()}`)
    .replaceAll('/etc/haproxy', path.resolve('deploy'))
    .replace(/server-template .*/, `server api1 ${new URL(replica).host}`)
  // npm test removes it.
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'petcat-')), 'cfg')
  writeFileSync(file, configuration)
  const { output } = run(t, ['haproxy', '-W', '-db', '-f', file], {
    env: { TLS: 'off', MAX_CONNECTIONS_PER_SOURCE: '0', ...variables }
  })
  const url = `http://127.0.0.1:${port}`
  const isReady = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false
    )
  await until(isReady, 'the proxy uses the replica')

  return { url, port, metricsPort, output }
}
