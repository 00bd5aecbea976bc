// Tests docker-compose.yml and the commands of its pages in docs/ on a real
// engine, after a roll: npm run compose --prefix tools/deploy-check. Takes some
// minutes.
import './roll.test.ts'
import {
  mkdirSync,
  readdirSync,
  rmSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import {
  commonVariables,
  rarelyNeededVariables
} from '../../src/framework/variables.ts'
import { operationsPages } from '../../test/support/documented-commands.ts'
import { lastLine, listed, status } from '../../test/support/installation.ts'
import { createKeyed } from '../../test/support/resend.ts'
import { parseRaw, sendRaw } from '../../test/support/service.ts'
import {
  compose,
  configure,
  database17,
  imageOfService,
  installation,
  project,
  proxyFile,
  registry,
  replaces,
  replicas,
  upReplacesNothing
} from './compose.ts'
import { certify, eventually } from './installation.ts'
import { firing, prometheusAt } from './prometheus.ts'
import {
  incidentsAreFound,
  isConfined,
  keysAreReplaced,
  lockIsReleased
} from './scenarios.ts'
import { databaseOutage, outage } from './under-load.ts'

const { documented, edit, folder, incident, inline } = installation
const { read, serves, sh, sql, underLoad, url, write } = installation

/** Runs a program in a container of the service. */
const inService = (program: string) =>
  compose(`exec -T api node -e "${program}"`)

const inDatabase = (command: string) => compose(`exec -T db sh -c '${command}'`)

const logOf = (services: string) => compose(`logs --no-log-prefix ${services}`)

/** Resolves with a line of the logs of the proxy and the service. */
async function logged(part: string): Promise<string> {
  let line: string | undefined
  await eventually(async () => {
    const log = await logOf('proxy api')
    line = log.split('\n').find((one) => one.includes(part))
    return line !== undefined
  }, `the log has ${part}`)
  return line ?? ''
}

t.test('the service runs without root and capabilities', (t) =>
  isConfined(t, (command) => compose(`exec -T api ${command}`), '1000')
)

t.test(
  'only the proxy is published, and the service owns no table',
  async (t) => {
    const published = await sh(`
    docker ps --filter label=com.docker.compose.project=${project} \\
      --format '{{.Names}} {{.Ports}}' |
      grep -- '->'`)
    t.equal(published, `${project}-proxy-1 127.0.0.1:3907->8080/tcp`)

    t.equal(await status(`${url}/metrics`), 404)

    const roles = `
    SELECT tableowner, usename
    FROM pg_tables, pg_stat_activity
    WHERE schemaname = 'public' AND application_name = 'pet-categories'
    GROUP BY 1, 2`
    t.equal(await sql(roles), 'pet_categories_owner|pet_categories')
  }
)

t.test('the service sees the address of the client', async (t) => {
  const headers = {
    'x-forwarded-for': '203.0.113.9',
    'x-request-id': 'forwarded',
    authorization: `Bearer ${installation.key}`
  }
  await status(`${url}/v1/categories`, headers)
  const place = "'{{(index .IPAM.Config 0).Gateway}}'"
  const network = `docker network inspect ${project}_front`
  const gateway = await sh(`${network} -f ${place}`)
  const line = await logged('"reqId":"forwarded"')
  t.match(line, `"ip":"${gateway}"`)
  t.notMatch(line, '203.0.113.9')
})

/** Sends a request line and request ids to the proxy. */
async function sendToProxy(line: string, ...ids: string[]) {
  const lines = [
    `${line} HTTP/1.1`,
    'Host: a:1',
    'Connection: close',
    ...ids.map((id) => `X-Request-Id: ${id}`),
    '',
    ''
  ]
  return parseRaw(await sendRaw(3907, lines.join('\r\n')))
}

t.test('the proxy checks methods and request ids', async (t) => {
  const { key } = installation
  const good = await sendToProxy('GET /livez', 'good')
  t.match(good.headers, { 'x-request-id': 'good', 'keep-alive': 'timeout=55' })
  const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
  for (const ids of [['good', 'evil'], ['good, evil thing'], [`a.${key}`]]) {
    const { headers } = await sendToProxy('GET /livez', ...ids)
    t.match(headers['x-request-id'], uuid, `${ids.length} ids`)
  }

  for (const line of [
    `TRACE /${key}`,
    `${key} /`,
    `BREW http://${key}@a:1/the-end`
  ]) {
    const { body } = await sendToProxy(line, 'evil thing')
    t.match(JSON.parse(body), { status: 501, code: 'not_implemented' }, line)
  }
  t.match(await logged('/the-end'), / \/the-end 501 id=/)
  const log = await logOf('proxy api')
  t.match(log, ` /${key.slice(0, 15)}*** 501 id=`, 'which key it was')
  t.notMatch(log, key.slice('petcat_'.length))
  t.notMatch(log, 'evil')
})

t.test('more replicas start, are used, and replace nothing', async (t) => {
  configure('API_REPLICAS', '3')
  await replaces(t, [], () => documented('More replicas'))
  t.equal((await replicas()).length, 3)
  const used = /^haproxy_server_status\{.*proxy="api",.*state="UP"\} 1$/gm
  const metrics = await inService(`
    fetch('http://proxy:8405/metrics')
      .then((response) => response.text())
      .then(console.log)`)
  t.equal(metrics.match(used)?.length, 3)
})

t.test('a limit is changed beside a stopped container', async (t) => {
  const [stopped = ''] = await replicas()
  await sh(`docker kill ${stopped}`)
  await replaces(t, ['api'], () => documented('Change one limit'))
  const [id = '', ...others] = await replicas()
  t.equal(others.length, 1)
  const memory = `docker inspect -f '{{.HostConfig.Memory}}' ${id}`
  t.equal(await sh(memory), String(768 * 2 ** 20))
  configure('API_REPLICAS', '2')
})

t.test('an orphan that fails does not restart the database', async (t) => {
  await underLoad(t, async () => {
    const orphan = await inDatabase('(sleep 1; exit 1) >/dev/null & echo $!')
    await inDatabase(`while test -e /proc/${orphan}; do sleep 0.1; done`)
  })
})

t.test('mistakes are found, and nothing is replaced', async (t) => {
  const neverReady = { SHUTDOWN_TIMEOUT_MS: '0' }
  const check = installation.block('Check')
  const mistakes: [string, Record<string, string>, RegExp][] = [
    [check, { LOG_LEVEL: 'x' }, /LOG_LEVEL must/],
    [check, { TLS: 'On' }, /TLS must be on or off/],
    [check, { MAX_CONNECTIONS_PER_SOURCE: 'x' }, /neither a number/],
    [
      `trap 'rm src/other.ts' EXIT
      touch src/other.ts
      ${check}`,
      { PULL_POLICY: 'missing' },
      /not built from the files of this clone/
    ],
    ['deploy/roll', neverReady, /did not become ready and was removed/]
  ]
  await replaces(t, [], async () => {
    for (const [command, variables, says] of mistakes)
      await t.rejects(sh(command, variables), says)
    edit(proxyFile, /$/, 'mistake\n')
    await t.rejects(sh('deploy/reload'), /unknown keyword 'mistake'/)
    edit(proxyFile, 'mistake\n', '')
    await sh('deploy/reload')
  })

  t.notMatch(await documented('Check'), 'not up to date')
  const checked = await documented('Check', 0, { DATABASE_CPUS: '1' })
  t.match(checked, 'up -d --wait --no-deps --force-recreate db')
  t.notMatch(checked, 'force-recreate proxy')
})

t.test('proxy and database are replaced, and nothing else', async (t) => {
  const replace = 'docker compose up -d --wait --no-deps --force-recreate'
  await replaces(t, ['proxy'], () => inline(`${replace} proxy`), outage)
  await replaces(t, ['db'], () => inline(`${replace} db`), databaseOutage)
})

t.test('a roll that is interrupted leaves the version that runs', async (t) => {
  const before = await replicas()
  const end = (signal: string) =>
    sh(`
    set -m
    deploy/roll >/dev/null 2>&1 &
    until [ "$(docker compose ps -q api | wc -l)" -gt ${before.length} ]
    do sleep 0.1
    done
    kill -${signal} -- -$!
    wait $! || true`)
  await replaces(t, [], () => end('INT'))
  t.same(await replicas(), before)

  await replaces(t, ['api'], async () => {
    await end('KILL')
    await sh('deploy/roll')
  })
  t.equal((await replicas()).length, before.length)
})

t.test('a replica that is not ready does not stop a roll', async (t) => {
  write(
    'impatient.yml',
    'services: { api: { healthcheck: { interval: 1s, retries: 1 } } }\n'
  )
  await sh('deploy/roll', { COMPOSE_FILE: 'docker-compose.yml:impatient.yml' })
  const [sick = '', ...others] = await replicas()
  await sh(`docker network disconnect ${project}_back ${sick}`)
  const health = `docker inspect -f '{{.State.Health.Status}}' ${sick}`
  const isUnhealthy = async () => (await sh(health)) === 'unhealthy'
  await eventually(isUnhealthy, 'it is not ready')

  await sh('deploy/roll')
  const now = await replicas()
  t.equal(now.length, 1 + others.length)
  t.notOk(now.includes(sick))
  t.ok(await serves())
})

t.test('secrets are rotated without one failed request, twice', async (t) => {
  for (const next of [/:pet_categories_2:/, /:pet_categories:/]) {
    const old = read('secrets/database_url').trim()
    await underLoad(t, () => documented('Rotate secrets'))
    t.match(read('secrets/database_url').replaceAll('//', ''), next)
    await t.rejects(
      compose(`exec -T db psql "${old}" -c 'SELECT 1'`),
      /password authentication failed/
    )
  }
  await sql(`
    SET ROLE pet_categories;
    ALTER ROLE pet_categories SET work_mem = '1MB';
    ALTER ROLE pet_categories IN DATABASE pet_categories SET work_mem = '1MB'`)
  await underLoad(t, async () => {
    await documented('Rotate secrets', 1)
    await inline('docker compose run --rm --no-deps migrate')
  })
  const settings = await sql('SELECT setconfig FROM pg_db_role_setting')
  t.notMatch(settings, 'work_mem', 'what an intruder has set is reset')
})

t.test('every variable of the service can be set in .env', (t) => {
  const file = read('docker-compose.yml')
  const all = Object.keys({ ...commonVariables, ...rarelyNeededVariables })
  t.same(
    all.filter((name) => !file.includes(`\n      ${name}:`)),
    ['PORT', 'HOST', 'DATABASE_URL', 'DATA_DIR']
  )
  t.end()
})

/** Kills a script, and what it has started, when `db` has a setting. */
const killed = (command: string, setting: string) =>
  sh(`
    set -m
    ${command.trim()} &
    until docker compose ps -aq db | xargs docker inspect | grep -q ${setting}
    do sleep 0.1
    done
    kill -KILL -- -$!
    wait $! || true`)

/** The service is where it was after a script was killed. */
async function isUnchanged(t: Test): Promise<void> {
  await t.rejects(documented('Back up', 0, { BACKUPS }), /was killed/)
  const up = installation.command('docker compose up -d --wait')
  await sh(`${up} || ${up}`)
  t.ok(await serves())
}

t.test('two scripts do not run at the same time', async (t) => {
  await t.rejects(
    sh('exec 8<deploy; flock 8; deploy/restore .env; true'),
    /Another script/
  )
  await t.rejects(
    sh('exec 8<deploy; flock 8; timeout 3 deploy/reload'),
    'it waits for the other one'
  )
})

const BACKUPS = path.join(folder, 'backups')

t.test('dumps are restored as a test, and removed', async (t) => {
  const old = '2020-01-01T00-00-00Z.dump'
  const [own, other] = [`${project}-${old}`, `${project}-staging-${old}`]
  mkdirSync(BACKUPS)
  for (const name of [own, other]) {
    const file = path.join(BACKUPS, name)
    writeFileSync(file, '')
    utimesSync(file, 0, 0)
  }
  const failing = { BACKUPS, COMPOSE_PROJECT_NAME: 'none' }
  await t.rejects(documented('Back up', 0, failing))
  t.same(readdirSync(BACKUPS), [own, other])
  await t.rejects(documented('Back up', 1, { BACKUPS }), 'no dump')

  await underLoad(t, async () => {
    const dump = await documented('Back up', 0, { BACKUPS })
    t.same(readdirSync(BACKUPS), [path.basename(dump), other])
    t.match(dump, `/${project}-20`)
    await documented('Back up', 1, { BACKUPS })
  })
})

t.test('completed messages are deleted when they are old', async (t) => {
  await sql(`
    INSERT INTO messages (id, message, status, created_at)
    SELECT gen_random_uuid(), concat(status, age), status, now() - age
    FROM
      unnest('{done,queued}'::text[]) AS status,
      unnest('{1 day,31 days}'::interval[]) AS age`)
  await incident('disk full', 1)
  const left = 'SELECT message FROM messages ORDER BY 1'
  t.equal(await sql(left), 'done1 day\nqueued1 day\nqueued31 days')
})

t.test('keys are rotated, found and revoked', (t) =>
  underLoad(t, () => keysAreReplaced(t, installation))
)

t.test('a killed database loses and doubles no create', async (t) => {
  await underLoad(
    t,
    async () => {
      await sh('docker kill $(docker compose ps -q db)')
      const isLogged = async () =>
        (await incident('database down')).includes('is unavailable')
      await eventually(isLogged, 'the log says why')
      await inline('docker compose start db')
      await eventually(serves, 'the service responds')
    },
    databaseOutage
  )
  t.match(await incident('errors'), /"operation":"createCategory","status":503/)
  const isOver = async () => {
    const printed = await incident('database down', 1)
    return /standby/.test(printed) && !/is unavailable/.test(printed)
  }
  await eventually(isOver, 'the log says no more that there is an outage')
})

t.test('the commands of incidents find what they look for', async (t) => {
  await sql("SELECT pg_create_physical_replication_slot('old')")
  const [CONTAINER = ''] = await replicas()
  const variables = {
    SLOT: 'old',
    CONTAINER,
    TABLE: 'categories',
    SEQUENCE: 'orders_id_seq',
    ID: '1000'
  }
  const found: [command: string, finding: string | RegExp][] = [
    ['docker compose logs --tail 20 db', 'db-1'],
    ['docker compose ps --all', /migrate.*Exited \(0\)/],
    ['docker compose logs --tail 20 api', '"level":30'],
    [
      `docker compose exec -T db sh -c 'du -sh "\${PGDATA%/*}"/*'`,
      /\t.*data\/17$/
    ],
    ['db "VACUUM $TABLE"', 'VACUUM'],
    [`db "SELECT setval('$SEQUENCE', $ID)"`, '1 row'],
    ['docker image prune --force', 'reclaimed'],
    ['docker builder prune --force', 'Total'],
    ['api pet-categories-keys list', 'valid'],
    ['docker restart $CONTAINER', /./],
    ['command -v docker', 'docker'],
    [`db "SELECT pg_drop_replication_slot('$SLOT')"`, '1 row']
  ]
  await underLoad(t, async () => {
    await incidentsAreFound(t, installation)
    for (const [command, finding] of found)
      t.match(await inline(command, variables), finding, command)
  })
})

t.test('a roll that cannot migrate names who holds locks', async (t) => {
  const held = sql(
    'BEGIN; LOCK messages IN ACCESS SHARE MODE; SELECT pg_sleep(600)'
  )
  const ended = t.rejects(held, /terminating connection/)
  const process = /Process (\d+) \(postgres, psql\) has held locks/
  let PID = ''
  const isNamed = async () => {
    const failed: unknown = await sh('deploy/roll', { LOG_LEVEL: 'x' }).catch(
      String
    )
    PID = process.exec(String(failed))?.[1] ?? ''
    return PID !== ''
  }
  await eventually(isNamed, 'the roll names the process')
  await incident('database slow', 1, { PID })
  await ended
})

t.test('a locked table is found and released', (t) =>
  lockIsReleased(t, installation)
)

const names = () => listed(url, installation.key)

/** Creates a category. */
async function create(t: Test, name: string): Promise<void> {
  const target = { url, key: installation.key, resource: 'categories' }
  t.match(await createKeyed(target, name, name), { status: 201 })
}

t.test('a dump is restored into a new installation, and again', async (t) => {
  const before = await names()
  // As of an intruder.
  await sql("SET ROLE pet_categories; SELECT lo_from_bytea(0, 'x')")
  const DUMP = lastLine(await documented('Back up', 0, { BACKUPS }))
  const listing = await incident('no backup', 0, { DUMP })
  t.match(listing, 'TABLE DATA public categories')
  await compose('down --volumes')
  await compose('up -d --wait')
  t.same(await names(), [])
  for (const name of ['first', 'second']) {
    await documented('Install', 2)
    // As of a version that came after the dump.
    await sql(`
        SET ROLE pet_categories_owner;
        CREATE TABLE later (category bigint REFERENCES categories)`)
    await documented('Restore', 0, { DUMP })
    t.same(await names(), before)
    t.equal(await sql("SELECT to_regclass('later')"), '')
    await create(t, `after-the-${name}-restore`)
  }
  const last = await names()
  await killed(`deploy/restore '${DUMP}'`, 'listen_addresses=127')
  await isUnchanged(t)
  t.same(await names(), last)
  const wrong = documented('Restore', 0, { DUMP: '.env' })
  await t.rejects(wrong, /not a dump of this database/)
  const missing = documented('Restore', 0, { DUMP: 'none' })
  await t.rejects(missing, /:\nrealpath: none: No such file or directory\n$/)
  t.ok(await serves())
})

const now = () => sql('SELECT clock_timestamp()')

t.test('a moment is restored from the archive, and then another', async (t) => {
  const heading = 'Recover to a point in time'
  const recover = (TIME: string) => documented(heading, 2, { TIME })
  const archive = path.join(folder, 'archive')
  mkdirSync(archive)
  await t.rejects(recover('now'), /There is no archive/)
  configure('COMPOSE_FILE', 'docker-compose.yml:deploy/archive.yml')
  configure('ARCHIVE', archive)
  await replaces(t, ['db'], () => documented(heading), databaseOutage)
  await t.rejects(recover(await now()), /no base backup from before/)
  await t.rejects(recover('tomorrow'), /is in the future/)
  await underLoad(t, () => documented(heading, 1))

  await create(t, 'kept')
  const tooEarly = await now()
  await create(t, 'wanted')
  const right = await now()
  await create(t, 'by-mistake')

  await killed(`deploy/recover '${tooEarly}'`, 'listen_addresses=127')
  await isUnchanged(t)
  t.match(await recover(tooEarly), /The service is ready/)
  t.notOk((await names()).includes('wanted'))
  await create(t, 'later')
  const output = await recover(right)
  const last = (await names()).slice(-2)
  t.same(last, ['kept', 'wanted'])
  await create(t, 'after')

  const [, undo = ''] = /To undo it:\n +(.*)/.exec(output) ?? []
  await sh(undo)
  t.equal((await names()).at(-1), 'later')
  const [, current] = /^DATABASE_FOLDER=(.*)/m.exec(read('.env')) ?? []
  const newest = await sh('ls -t archive/*/copy-* | head -n 1')
  t.match(newest, `archive/${current}/`, 'deploy/recover would restore from it')
})

t.test('images come from a registry, such as a minor version', async (t) => {
  // Debian's registry needs a password: `test`, as of `htpasswd -B`.
  write(
    'htpasswd',
    'test:$2y$05$abcdefghijklmnopqrstuuMceFj4VbmHOj8C7PetMxzZkwre/z.Ri'
  )
  const login = installation.command('docker login registry.example.com')
  const [, service = ''] = await imageOfService()
  await sh(`
    docker run -d --name $IMAGE-registry -p ${registry}:5000 \
      -v "$PWD/htpasswd:/htpasswd:ro" \
      -e REGISTRY_AUTH=htpasswd \
      -e REGISTRY_AUTH_HTPASSWD_REALM=test \
      -e REGISTRY_AUTH_HTPASSWD_PATH=/htpasswd registry:2
    for attempt in $(seq 100); do
      ${login.replace('registry.example.com', registry)} -u test -p test && break
      sleep 0.1
    done
    docker tag ${service} ${registry}/${service}
    docker build -q -t ${database17} - <<< 'FROM postgres:17-alpine'
    for image in ${registry}/${service} ${database17}; do
      docker push -q $image
      docker image rm $image
    done`)
  const IMAGE = `${registry}/${project}`
  await documented('Check', 0, { IMAGE, PULL_POLICY: 'missing' })
  configure('DATABASE_IMAGE', database17)
  const update = () => documented('Update PostgreSQL')
  await replaces(t, ['db'], update, databaseOutage)
})

/** Starts a consumer, with a role of its own, that writes to the database. */
async function startConsumer(): Promise<void> {
  await sql(`
    CREATE ROLE consumer LOGIN PASSWORD 'change-me';
    GRANT CONNECT ON DATABASE pet_categories TO consumer;
    GRANT SELECT, INSERT ON messages TO consumer`)
  await sh(`
    docker run -d --name $IMAGE-consumer --network ${project}_back \
      postgres:17-alpine sh -c '
        while sleep 0.1
        do psql postgres://consumer:change-me@db/pet_categories -qAtXc "
          INSERT INTO messages (id, message)
          SELECT gen_random_uuid(), current_user
          RETURNING id"
        done'`)
}

/** Resolves when the consumer has written, with the ids of all its messages. */
async function consumerWrites(): Promise<string[]> {
  const written = async () =>
    (await sh('docker logs $IMAGE-consumer 2>/dev/null')).split('\n')
  const { length } = await written()
  const hasMore = async () => (await written()).length > length
  await eventually(hasMore, 'the consumer writes')
  return written()
}

t.test('the database moves to a new major version', async (t) => {
  const before = await names()
  const upgrade = () => documented('Update PostgreSQL', 1)
  await killed(installation.block('Update PostgreSQL', 1), '/18-')
  await isUnchanged(t)
  // An image whose server ends at once.
  await sh(`docker build -q -t ${project}-db:19 - <<'IMAGE'
FROM postgres:17-alpine
RUN printf '#!/bin/sh\\necho "postgres (PostgreSQL) 19.0"\\n' >/usr/local/sbin/postgres
RUN chmod +x /usr/local/sbin/postgres
ENV PATH=/usr/local/sbin:$PATH
IMAGE`)
  await t.rejects(
    sh(`deploy/upgrade-database ${project}-db:19`),
    /19 does not start[^]*previous cluster is started again/
  )

  const TIME = await now()
  await startConsumer()
  await consumerWrites()
  await underLoad(t, upgrade, databaseOutage)
  const acknowledged = await consumerWrites()
  await sh('docker rm -f $IMAGE-consumer')
  const stored = await sql('SELECT id FROM messages')
  t.ok(acknowledged.every((id) => stored.includes(id)))
  t.match(await sql('SHOW server_version'), /^18/)
  t.same((await names()).slice(0, before.length), before)
  t.match(await sh('ls archive/18-*'), 'copy-')

  await inline('DATABASE_IMAGE=postgres:17-alpine deploy/recover "$TIME"', {
    TIME
  })
  t.same(await names(), before)
  await documented('Old clusters')
  t.match(await inDatabase('ls /var/lib/postgresql/data'), /^restored-.+$/)
})

t.test('after a reboot the containers start in any order', async (t) => {
  const all = `docker ps -aq --filter label=com.docker.compose.project=${project}`
  await replaces(
    t,
    [],
    async (clients) => {
      await documented('Reboot the host')
      await documented('Reboot the host', 1)
      await clients.stores(20)
      // As of a loss of power.
      await sh('docker kill $(docker compose ps -q)')
      await sh(`docker start $(${all})`)
    },
    outage
  )
  await upReplacesNothing(t)
})

const renew = async (validity = {}) => {
  const { cert, private: privateKey } = await certify('localhost', validity)
  write('fullchain.pem', `${cert}\n`)
  write('privkey.pem', privateKey)
  await sh('cat fullchain.pem privkey.pem >secrets/tls/site.pem')
}

t.test('a certificate is renewed without a restart', async (t) => {
  await renew()
  configure('TLS', 'on')
  await compose('up -d --wait --no-deps proxy')
  const HOST = await sh(
    "docker inspect $(docker compose ps -q proxy) -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}'"
  )
  t.match(
    await sh(`curl -isk https://${HOST}:8443/readyz`),
    /^HTTP\S+ 200[^]*strict-transport-security: max-age=31536000/
  )

  const served = () =>
    incident('certificate expired', 0, { HOST, PORT: '8443' })
  const before = await served()
  const notBeforeDate = new Date('2020-01-01')
  await renew({ notBeforeDate, notAfterDate: new Date('2020-12-31') })
  await t.rejects(documented('Certificates'), /has expired/)
  t.equal(await served(), before)

  await replaces(t, [], async () => {
    await renew()
    await documented('Certificates')
    await incident('certificate expired', 1)
    // As certbot runs a hook: with sh, elsewhere.
    const hook = installation.block('Certificates', 1)
    const script = hook.replace('/srv/pet-categories', folder)
    await sh(`cd /; env RENEWED_LINEAGE='${folder}' sh -ec '${script}'`)
    const isServed = async () => (await served()) !== before
    await eventually(isServed, 'the new certificate is served')
  })
})

/** How many values expressions have. */
const measured: Record<string, number> = {
  'up{job="pet-categories"} == 1': 2,
  'up{job!="pet-categories"} == 1': 7,
  'job:http_server_errors:increase1h{job="haproxy"}': 1,
  'node_filesystem_avail_bytes{mountpoint="/"} > 0': 1,
  'sum(pg_stat_activity_count) < max(pg_settings_max_connections)': 1
}

const evaluate = prometheusAt('http://127.0.0.1:3909')

/** Resolves when an alert fires. */
const fires = (alertname: string) =>
  eventually(
    async () => (await evaluate(firing(alertname))).length > 0,
    `the alert ${alertname} fires`
  )

/** ReplicasMissing compares with the replicas that have served for so long. */
function haveServed() {
  const servers = 'haproxy_backend_active_servers{proxy="api"}'
  const steady = `min_over_time(${servers}[30s]) == ${servers} and ${servers} offset 30s`
  return eventually(
    async () => (await evaluate(steady)).length === 1,
    'the replicas have served for 30 s'
  )
}

t.test('one command adds Prometheus, which finds every exporter', async (t) => {
  configure(
    'COMPOSE_FILE',
    'docker-compose.yml:deploy/archive.yml:deploy/monitoring.yml'
  )
  // So that the test need not wait.
  const file = 'deploy/monitoring/prometheus.yml'
  write(file, read(file).replaceAll('15s', '2s'))
  const rules = 'deploy/observability/rules.yml'
  write(
    rules,
    read(rules)
      .replaceAll(/for: 30s$/gm, 'for: 2s')
      .replaceAll(/for: [123]m$/gm, 'for: 15s')
      .replaceAll(/(active_servers.*)5m/g, '$130s')
      .replace('[6h:1m]', '[6h:2s]')
  )
  await replaces(t, [], () => documented('Prometheus'))
  const ports = await compose("ps --format '{{.Ports}}'")
  t.notMatch(ports, /(0\.0\.0\.0|\[?::\]?):/, 'not for other machines')

  for (const [expression, count] of Object.entries(measured)) {
    const isMeasured = async () => (await evaluate(expression)).length === count
    await eventually(isMeasured, `${count} values of ${expression}`)
  }
})

t.test(
  'incidents raise their alerts, and their commands end them',
  async (t) => {
    // Several at once, because each takes a while.
    await renew({ notAfterDate: new Date(Date.now() + 5 * 86_400_000) })
    const SLOT = 'forgotten'
    await sql(`SELECT pg_create_physical_replication_slot('${SLOT}')`)
    const setMode = (mode: string) =>
      inDatabase(`chmod ${mode} "$ARCHIVE_FOLDER"`)
    await setMode('0')
    await sql('SELECT pg_current_xact_id(), pg_switch_wal()')
    await sh(`
      deploy/reload
      docker compose stop alertmanager
      echo 'backup_last_success_timestamp_seconds{kind="dump"} 0' >metrics/dump.prom`)

    for (const name of [
      'CertificateExpires',
      'SlotUnused',
      'ArchivingFails',
      'ExporterDown',
      'NoBackup'
    ])
      await fires(name)
    t.match(await incident('archiving fails'), 'archive command failed')
    await setMode('700')
    await inline(`db "SELECT pg_drop_replication_slot('$SLOT')"`, { SLOT })
    await renew()
    await documented('Certificates')

    await haveServed()
    await sh(`docker kill ${(await replicas())[0]}`)
    await fires('ReplicasMissing')
    await inline('docker compose up -d --wait --no-recreate')

    await compose('stop proxy')
    await fires('ServiceUnreachable')
    t.match(await incident('proxy down'), 'Exited')
    await incident('proxy down', 1)
    const verify = installation.command('curl -f http://127.0.0.1:3000/readyz')
    await sh(verify.replace('http://127.0.0.1:3000', url))
    await incident('monitoring down')
  }
)

/** An alert of Alertmanager: it is active, or suppressed by another. */
interface ToldAlert {
  labels: { alertname: string }
  receivers: { name: string }[]
  status: { state: string }
}

/** The critical alerts, and who is told of them. */
async function criticalAlerts(): Promise<string[]> {
  const alerts = 'http://127.0.0.1:3910/api/v2/alerts?filter=severity=critical'
  // The disk of this machine may be full, and archiving has failed before.
  const others = 'filter=alertname!~DiskFull|ArchivingFails'
  const response = await fetch(`${alerts}&${others}`)
  return ((await response.json()) as ToldAlert[]).map(
    ({ labels, receivers, status: { state } }) =>
      `${labels.alertname} ${receivers[0]?.name} ${state}`
  )
}

t.test('a killed database pages once, by its own alert', async (t) => {
  const file = 'secrets/alertmanager/alertmanager.yml'
  write(file, read(file).replaceAll(/\bnow$/gm, 'on-call'))
  await documented('Prometheus', 1)
  // The proxy was stopped before.
  const isCalm = async () => (await criticalAlerts()).length === 0
  await eventually(isCalm, 'no other alert fires')

  await sh('docker kill $(docker compose ps -q db)')
  const told = new Set<string>()
  const areMuted = async () => {
    for (const alert of await criticalAlerts()) told.add(alert)
    return ['NoReplicaReady', 'ProxyHasNoReplica', 'ServiceUnreachable'].every(
      (symptom) => told.has(`${symptom} on-call suppressed`)
    )
  }
  await eventually(areMuted, 'the symptoms are muted')
  const pages = [...told].filter((alert) => alert.endsWith('active'))
  t.same(pages, ['DatabaseDown on-call active'])
  await inline('docker compose start db')
  await eventually(serves, 'the service responds')
})

t.test('lost secrets are replaced, with HTTPS and monitoring', async (t) => {
  const certificate = read('secrets/tls/site.pem')
  const replace = () => documented('Rotate secrets', 2)
  await underLoad(
    t,
    async () => {
      rmSync(path.join(folder, 'secrets'), { recursive: true })
      await t.rejects(replace(), /needs a certificate/)
      write('secrets/tls/site.pem', certificate)
      await replace()
    },
    outage
  )
})

t.test('the connections of a source are limited', async () => {
  await compose('up -d --wait --no-deps proxy', {
    MAX_CONNECTIONS_PER_SOURCE: '4'
  })
  const open = `
      let closed = 0
      for (let count = 0; count < 10; count++) {
        const socket = require('net').connect(8080, 'proxy')
        socket.on('error', () => {}).on('close', () => closed++)
      }
      setTimeout(() => { console.log(closed); process.exit() }, 1000)`
  const isLimited = async () => (await inService(open)) === '6'
  await eventually(isLimited, '6 of 10 connections are closed')
})

t.test('a PostgreSQL of your own is used, over TLS', async (t) => {
  await sh(`
    docker compose down --volumes
    rm -r secrets
    cp deploy/production.env .env`)
  await inline('DATABASE_HOST=db.example.com deploy/secrets')
  const { cert, private: KEY } = await certify('db.example.com')
  write('secrets/database-ca.pem', cert)
  write('psql', `exec docker exec -i ${project}-own psql "$@"`)
  configure('COMPOSE_FILE', 'docker-compose.yml:deploy/own-database.yml')
  const [tls = ''] = /\?sslmode=[^`]+/.exec(read('docs/operations.md')) ?? []
  await sh(
    `
    sed -i 's|$|${tls.replace('&', '\\&')}|' secrets/*database_url
    chmod +x psql
    docker compose create
    export PGPASSWORD=$(cat secrets/postgres_password)
    docker run -d --name $IMAGE-own --network ${project}_back \
      --network-alias db.example.com -e CERTIFICATE -e KEY -e PGPASSWORD \
      -e POSTGRES_PASSWORD=$PGPASSWORD -e POSTGRES_DB=pet_categories \
      --entrypoint sh postgres:17-alpine -euc '
        umask 077
        cd /tmp
        echo "$CERTIFICATE" >server.crt
        echo "$KEY" >server.key
        chown postgres server.*
        exec docker-entrypoint.sh postgres -c ssl=on \
          -c ssl_cert_file=$PWD/server.crt -c ssl_key_file=$PWD/server.key'
    until ./psql -h db.example.com -U postgres -c 'SELECT 1'
    do sleep 0.1
    done`,
    { CERTIFICATE: cert, KEY }
  )
  await inline(
    'PSQL="psql -h db.example.com -U postgres" SECRETS=secrets deploy/roles.sh',
    { PATH: `${folder}:${process.env['PATH']}` }
  )
  await inline('docker compose up -d --wait')
  installation.key = read('secrets/first_api_key').trim()
  await underLoad(t, () => sh('deploy/roll'))
})

t.test('every command of the pages has run', (t) => {
  for (const page of operationsPages) {
    const left = installation.left(page, (line) => !line.includes('kubectl'))
    t.same(left, [], page)
  }
  t.end()
})
