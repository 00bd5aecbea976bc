import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { freePort } from '../../test/support/postgres.ts'
import { run } from '../../test/support/process.ts'
import { certify } from './installation.ts'

const proxyFile = 'deploy/haproxy.cfg'

/** Such as 3.2. */
export const haproxyVersion = Number(
  /\d+\.\d+/.exec(execFileSync('haproxy', ['-v']).toString())?.[0]
)

/**
 * Starts the proxy of compose in front of replicas, until the test ends.
 *
 * @param replicas their URLs
 */
export async function startHaproxy(
  t: Test,
  replicas: string[],
  variables: Record<string, string> = {}
) {
  const port = await freePort()
  const tlsPort = await freePort()
  const metricsPort = await freePort()
  // npm test removes it.
  const folder = mkdtempSync(path.join(tmpdir(), 'petcat-'))
  const servers = replicas.map(
    (replica, index) => `server api${index + 1} ${new URL(replica).host}`
  )
  const configuration = readFileSync(proxyFile, 'utf8')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('bind :8443', `bind 127.0.0.1:${tlsPort}`)
    .replace('/run/tls/', path.join(folder, 'site.pem'))
    .replace('bind :8405', `bind 127.0.0.1:${metricsPort}`)
    .replace('127.0.0.1:9999', `127.0.0.1:${await freePort()}`)
    .replaceAll('/etc/haproxy', path.resolve('deploy'))
    .replace(/server-template .*/, servers.join('\n  '))
  const file = path.join(folder, 'cfg')
  writeFileSync(file, configuration)
  const env = { TLS: 'off', MAX_CONNECTIONS_PER_SOURCE: '0', ...variables }
  if (env.TLS === 'on') {
    const { cert, private: privateKey } = await certify('localhost')
    writeFileSync(path.join(folder, 'site.pem'), `${cert}\n${privateKey}`)
  }
  const proxy = run(t, ['haproxy', '-W', '-db', '-f', file], { env })
  let hasEnded = false
  proxy.exited.then(
    () => {
      hasEnded = true
    },
    () => {}
  )
  const url = `http://127.0.0.1:${port}`
  /** Whether the proxy uses a replica. */
  const isReady = () => {
    if (hasEnded) throw new Error(`haproxy has ended: ${proxy.output()}`)
    return fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false
    )
  }

  return { url, tlsPort, metricsPort, isReady, group: Number(proxy.child.pid) }
}
