// Tests docker-compose.yml and the commands of its pages in docs/ on a real
// engine, after a roll: npm run compose --prefix tools/deploy-check. Takes some
// minutes.
import './roll.test.ts'
import { readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import {
  commonVariables,
  rarelyNeededVariables
} from '../../src/framework/variables.ts'
import { lastLine, listed, status } from '../../test/support/installation.ts'
import { createKeyed } from '../../test/support/resend.ts'
import {
  compose,
  configure,
  installation,
  project,
  proxyFile,
  replaces,
  replicas
} from './compose.ts'
import { eventually, isConfined } from './installation.ts'
import { firing, prometheusAt } from './prometheus.ts'
import { databaseOutage, outage } from './under-load.ts'

const { documented, edit, folder, incident, inline } = installation
const { read, serves, sh, sql, underLoad, url, write } = installation

const inDatabase = (command: string) => compose(`exec -T db sh -c '${command}'`)

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

t.test('compose sets or passes on every variable of the service', (t) => {
  const file = read('docker-compose.yml')
  const all = Object.keys({ ...commonVariables, ...rarelyNeededVariables })
  t.same(
    all.filter((name) => !file.includes(`\n      ${name}:`)),
    ['PORT', 'HOST', 'DATABASE_URL', 'DATA_DIR']
  )
  t.end()
})

t.test('your own PostgreSQL replaces db', async (t) => {
  const COMPOSE_FILE = 'docker-compose.yml:deploy/own-database.yml'
  const services = await compose('config --services', { COMPOSE_FILE })
  t.same(services.split('\n').sort(), ['api', 'migrate', 'proxy'])
})

t.test('replicas and limits change without a failed request', async (t) => {
  configure('API_REPLICAS', '3')
  await replaces(t, [], () => documented('More replicas'))
  t.equal((await replicas()).length, 3)

  configure('API_REPLICAS', '2')
  await replaces(t, ['api'], () => documented('Change one limit'))
  const [id, ...others] = await replicas()
  t.equal(others.length, 1)
  const memory = `docker inspect -f '{{.HostConfig.Memory}}' ${id}`
  t.equal(await sh(memory), String(768 * 2 ** 20))
})

t.test('mistakes are found, and nothing is replaced', async (t) => {
  await replaces(t, [], async () => {
    const check = documented('Check', 0, { LOG_LEVEL: 'x' })
    await t.rejects(check, /LOG_LEVEL must/)
    const roll = sh('deploy/roll', { SHUTDOWN_TIMEOUT_MS: '0' })
    await t.rejects(roll, /did not become ready and was removed/)

    edit(proxyFile, /$/g, 'mistake\n')
    await t.rejects(documented('Check'), /unknown keyword 'mistake'/)
    await t.rejects(sh('deploy/reload'), /unknown keyword 'mistake'/)
    edit(proxyFile, 'mistake\n', '')

    const locked = sh('exec 8<deploy; flock 8; deploy/roll')
    await t.rejects(locked, /Another script/)
  })

  const outdated = await documented('Check', 0, { DATABASE_CPUS: '1' })
  t.match(outdated, 'up -d --wait --no-deps --force-recreate db')
})

t.test('proxy and database are replaced, and nothing else', async (t) => {
  const replace = 'docker compose up -d --wait --no-deps --force-recreate'
  await replaces(t, ['proxy'], () => inline(`${replace} proxy`), outage)
  await replaces(t, ['db'], () => inline(`${replace} db`), databaseOutage)
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
  await underLoad(t, async () => {
    await documented('Rotate secrets', 1)
    await inline('docker compose run --rm --no-deps migrate')
  })
})

t.test('keys are rotated and revoked', async (t) => {
  const rotated = lastLine(await documented('Keys', 0, { ID: '1' }))
  t.ok(await serves(rotated))
  const KEY = rotated.slice(0, 15)
  const ID = await sql(`SELECT id FROM api_keys WHERE shown_part = '${KEY}'`)
  await documented('Keys', 1, { ID })
  const hasEnded = async () => !(await serves(rotated))
  await eventually(hasEnded, 'the key is revoked')
  const verified = await incident('key leaked', 3, { KEY, ID })
  t.match(verified, /revoked[^]*"status":401/)
})

/** What the commands of incidents print that change nothing. */
const findings: [incident: string, block: number, finding: RegExp][] = [
  ['database down', 1, /uptime.*standby/],
  ['disk full', 0, /pg_size_pretty[^]*slot_name/],
  ['disk full', 1, /DELETE 0\nVACUUM/],
  ['disk full', 2, /"createCategory","status":201/],
  ['crash loop', 0, /^200$/],
  ['key expires', 0, /valid/],
  ['database slow', 2, /n_dead_tup/],
  ['pool exhausted', 0, /pet-categories[^]*max_connections/],
  ['overload', 0, /createCategory/],
  ['flood', 0, /"key":"1"[^]*"ip":/],
  ['migration pending', 0, /pet_shop/],
  ['messages not consumed', 0, /oldest[^]*client_addr/],
  ['clock skew', 0, /\d{10}\.\d+[^]*\d{10}\.\d+/]
]

t.test('the commands of incidents find what they look for', (t) =>
  underLoad(t, async () => {
    for (const [name, block, finding] of findings)
      t.match(await incident(name, block), finding, name)
  })
)

t.test('a killed database loses and doubles no create', async (t) => {
  const killAndStart = async () => {
    await sh('docker kill $(docker compose ps -q db)')
    const isLogged = async () =>
      (await incident('database down')).includes('is unavailable')
    await eventually(isLogged, 'the log says why')
    await inline('docker compose start db')
    await eventually(serves, 'the service responds')
  }
  await underLoad(t, killAndStart, databaseOutage)
  t.match(await incident('errors'), /"operation":"createCategory","status":503/)
})

t.test('a locked table is found and released', async (t) => {
  const lockAndRelease = async () => {
    const locked = sql('BEGIN; LOCK TABLE categories; SELECT pg_sleep(600)')
    const ended = t.rejects(locked, /terminating connection/)
    let PID: string | undefined
    const isFound = async () => {
      PID = /^ +(\d+) \| psql/m.exec(await incident('database slow'))?.[1]
      return PID !== undefined
    }
    await eventually(isFound, 'the lock is found')
    await incident('database slow', 1, { PID: String(PID) })
    await ended
  }
  // Some creates may wait for longer than DATABASE_TIMEOUT_MS.
  await underLoad(t, lockAndRelease, databaseOutage)
})

const names = () => listed(url, installation.key)

/** Creates a category. */
async function create(t: Test, name: string): Promise<void> {
  const target = { url, key: installation.key, resource: 'categories' }
  t.match(await createKeyed(target, name, name), { status: 201 })
}

const BACKUPS = path.join(folder, 'backups')
const backUp = () => documented('Back up', 0, { BACKUPS })

t.test('dumps are restored as a test, and removed', async (t) => {
  const old = '2020-01-01T00-00-00Z.dump'
  const other = `${project}-staging-${old}`
  await sh(`
    mkdir backups
    touch -d 2020-01-01 backups/${project}-${old} backups/${other}`)
  await underLoad(t, async () => {
    const dump = await backUp()
    t.same(readdirSync(BACKUPS), [path.basename(dump), other])
    await documented('Back up', 1, { BACKUPS })
  })
})

t.test('a dump is restored into a new installation', async (t) => {
  const before = await names()
  const DUMP = lastLine(await backUp())
  const listing = await incident('no backup', 0, { DUMP })
  t.match(listing, 'TABLE DATA public categories')
  await compose('down --volumes')
  await compose('up -d --wait')
  t.same(await names(), [])
  // As of a version that came after the dump.
  await sql(`
    SET ROLE pet_categories_owner;
    CREATE TABLE later (category bigint REFERENCES categories)`)
  await documented('Restore', 0, { DUMP })
  t.same(await names(), before)
  t.equal(await sql("SELECT to_regclass('later')"), '')

  const wrong = documented('Restore', 0, { DUMP: '.env' })
  await t.rejects(wrong, /not a dump of this database/)
  await create(t, 'after-the-restore')
  await sh(
    `set -m
    deploy/restore "$DUMP" &
    until docker compose ps -aq db | xargs docker inspect | grep -q listen_addresses=127
    do sleep 0.1
    done
    kill -KILL -- -$!
    wait $! || true`,
    { DUMP }
  )
  await t.rejects(backUp(), /was killed/)
  const up = 'docker compose up -d --wait'
  await sh(`${up} || ${up}`)
  t.equal((await names()).at(-1), 'after-the-restore', 'a kill changes nothing')
})

const now = () => sql('SELECT clock_timestamp()')

t.test('a moment is restored from the archive, and then another', async (t) => {
  const heading = 'Recover to a point in time'
  const recover = (TIME: string) => documented(heading, 2, { TIME })
  const archive = path.join(folder, 'archive')
  await sh(`mkdir '${archive}'`)
  configure('COMPOSE_FILE', 'docker-compose.yml:deploy/archive.yml')
  configure('ARCHIVE', archive)
  await replaces(t, ['db'], () => documented(heading), databaseOutage)
  await t.rejects(recover(await now()), /no base backup from before/)
  await underLoad(t, () => documented(heading, 1))

  await create(t, 'kept')
  const tooEarly = await now()
  await create(t, 'wanted')
  const right = await now()
  await create(t, 'by-mistake')

  await recover(tooEarly)
  t.equal((await names()).at(-1), 'kept')
  await create(t, 'later')
  const output = await recover(right)
  t.same((await names()).slice(-2), ['kept', 'wanted'])

  const [, undo = ''] = /To undo it:\n +(.*)/.exec(output) ?? []
  await sh(undo)
  t.equal((await names()).at(-1), 'later')
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
  await startConsumer()
  await consumerWrites()
  const upgrade = () => documented('Update PostgreSQL', 1)
  await underLoad(t, upgrade, databaseOutage)
  const acknowledged = await consumerWrites()
  await sh('docker rm -f $IMAGE-consumer')
  const stored = await sql('SELECT id FROM messages')
  t.ok(acknowledged.every((id) => stored.includes(id)))
  t.match(await sql('SHOW server_version'), /^18/)
  t.same((await names()).slice(0, before.length), before)
  t.match(await sh('ls archive/18-*'), 'copy-')

  await documented('Old clusters')
  t.match(await inDatabase('ls /var/lib/postgresql/data'), /^18-.+$/)
})

t.test('after a reboot the containers start in any order', async (t) => {
  const all = `docker ps -aq --filter label=com.docker.compose.project=${project}`
  const rebootAndLosePower = async () => {
    await documented('Reboot the host')
    await documented('Reboot the host', 1)
    await sh(`
      docker kill $(docker compose ps -q)
      docker start $(${all})`)
  }
  await replaces(t, [], rebootAndLosePower, outage)
})

/** Puts a certificate into secrets/tls that is valid for so many days. */
const renew = (days: number) =>
  sh(`
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost \
      -days ${days} -keyout privkey.pem -out fullchain.pem
    cat fullchain.pem privkey.pem >secrets/tls/site.pem`)

t.test('a certificate is renewed without a restart', async (t) => {
  await renew(100)
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
  await replaces(t, [], async () => {
    await renew(200)
    await documented('Certificates')
    await eventually(
      async () => (await served()) !== before,
      'the new certificate is served'
    )
    // As certbot runs a hook: with sh, elsewhere.
    const hook = installation
      .block('Certificates', 1)
      .replace('/srv/pet-categories', folder)
    await sh(`cd /; env RENEWED_LINEAGE='${folder}' sh -ec '${hook}'`)
  })
})

const evaluate = prometheusAt('http://127.0.0.1:3909')

/** Resolves when an expression has so many values. */
const measures = (expression: string, count: number) =>
  eventually(
    async () => (await evaluate(expression)).length === count,
    `${count} values of ${expression}`
  )

t.test('one command adds Prometheus, which finds every exporter', async (t) => {
  configure(
    'COMPOSE_FILE',
    'docker-compose.yml:deploy/archive.yml:deploy/monitoring.yml'
  )
  // So that the test need not wait.
  edit('deploy/monitoring/prometheus.yml', /15s/g, '2s')
  edit('deploy/observability/rules.yml', /for: 30s$/gm, 'for: 2s')
  edit('deploy/observability/rules.yml', /for: [123]m$/gm, 'for: 15s')
  await replaces(t, [], () => documented('Prometheus'))
  const ports = await compose("ps --format '{{.Ports}}'")
  t.notMatch(ports, /(0\.0\.0\.0|\[?::\]?):/, 'not for other machines')

  await measures('up{job="pet-categories"} == 1', 2)
  await measures('up{job!="pet-categories"} == 1', 7)
  await measures('node_filesystem_avail_bytes{mountpoint="/"} > 0', 1)
})

t.test('incidents raise their alerts', async (t) => {
  // Several at once, because each takes a while.
  await renew(5)
  await inDatabase('chmod 0 "$ARCHIVE_FOLDER"')
  await sql('SELECT pg_current_xact_id(), pg_switch_wal()')
  await sh(`
    deploy/reload
    echo 'backup_last_success_timestamp_seconds{kind="dump"} 0' >metrics/dump.prom`)
  for (const name of ['CertificateExpires', 'ArchivingFails', 'NoBackup'])
    await measures(firing(name), 1)
  t.match(await incident('archiving fails'), 'archive command failed')
  await inDatabase('chmod 700 "$ARCHIVE_FOLDER"')

  await compose('stop proxy')
  await measures(firing('ServiceUnreachable'), 1)
  t.match(await incident('proxy down'), 'Exited')
  await incident('proxy down', 1)
  await incident('monitoring down')
})

t.test('lost secrets are replaced, with HTTPS and monitoring', async (t) => {
  const certificate = read('secrets/tls/site.pem')
  const loseAndReplace = async () => {
    rmSync(path.join(folder, 'secrets'), { recursive: true })
    const replace = () => documented('Rotate secrets', 2)
    await t.rejects(replace(), /needs a certificate/)
    write('secrets/tls/site.pem', certificate)
    await replace()
  }
  await underLoad(t, loseAndReplace, outage)
})
