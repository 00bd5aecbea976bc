// Installs clones of this commit by the commands of docs/operations.md, and breaks them in
// each way that the runbook knows, while 16 clients create. Needs a Docker engine:
// TAP_TIMEOUT=3600 npm test -- tools/deploy-check/compose.test.ts
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { commandsBelow, shellIn } from '../markdown-commands.ts'
import { randomApiKey } from '../../src/api-keys/api-key.ts'
import {
  documentedRetries,
  LoadGenerator
} from '../../test/support/load-generator.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'petcat-compose-'))
const backups = path.join(folder, 'backups')
mkdirSync(backups)

/** Lines for `.env` that name other images. */
const images = process.env['IMAGES'] ?? ''

/**
 * A clone with its `.env`, which the teardown removes with all that it runs. A busy
 * machine fails no statement.
 */
function installation(name: string, port: number) {
  const clone = path.join(folder, name)
  execFileSync('git', ['clone', '--quiet', '.', clone])
  writeFileSync(
    path.join(clone, '.env'),
    `COMPOSE_PROJECT_NAME=${name}
PUBLISH=127.0.0.1:${port}:8080
COMPOSE_FILE=docker-compose.yml:deploy/monitoring.yml
PROMETHEUS_PUBLISH=127.0.0.1:${port + 1}
MAX_REQUESTS_PER_MINUTE=0
DATABASE_TIMEOUT_MS=20000
${images}
`
  )
  const sh = shellIn(clone, { BACKUPS: backups })

  /** Runs a block of commands below a heading of the page, from 0. */
  const runDocumented = (heading: string, index = 0, variables = {}) =>
    sh(commandsBelow('docs/operations.md', heading)[index], variables)

  /** Makes a commit, so that there is a new version. */
  const commit = () =>
    sh('git -c user.name=t -c user.email=t@t commit -q --allow-empty -m next')

  const sql = (statements: string) =>
    sh(`docker compose exec -T db psql -qAtX -v ON_ERROR_STOP=1 -U postgres -d pet_categories <<'SQL'
${statements}
SQL`)

  return {
    clone,
    url: `http://127.0.0.1:${port}`,
    sh,
    runDocumented,
    commit,
    sql
  }
}

const lastLine = (output: string) => String(output.split('\n').at(-1))

const production = installation('petcat-test', 3907)
const staging = installation('petcat-test-staging', 3910)
const { url, sh, runDocumented, sql } = production
const running = () =>
  sh('grep ^VERSION= .env; docker compose ps -aq api | sort')

t.teardown(async () => {
  for (const clone of [production, staging])
    await clone.sh('docker compose down --volumes --timeout 1 --rmi local')
  rmSync(folder, { recursive: true })
})

await runDocumented('Install')
const apiKey = lastLine(await runDocumented('Install', 1))

/**
 * Lets commands run while clients create. No create may be lost or doubled, no
 * client may give up, and no attempt may fail, but for the expected reasons.
 */
async function underLoad(
  t: Test,
  commands: () => Promise<unknown>,
  expected: string[] = [],
  retries = documentedRetries()
) {
  const load = new LoadGenerator(t, [{ url, apiKey }], retries)
  await load.waitForCreates(200)
  const start = Date.now()
  await commands()
  const seconds = Math.round((Date.now() - start) / 1000)
  await load.waitForCreates(200)
  t.same(await load.stop(), [])
  const { creates, lists, failures } = load
  t.comment(t.name, { seconds, creates, lists, ...failures })
  t.ok(Object.keys(failures).every((code) => expected.includes(code)))
}

/**
 * What requests may get while a replica or the database is away. The proxy closes
 * connections whose replica has died without a response.
 */
const outage = ['unavailable', 'outcome_unknown', 'no response: TypeError']

t.test(
  'the service is confined, and only the proxy is published',
  async (t) => {
    const inApi = (command: string) =>
      sh(`docker compose exec -T api ${command}`)
    t.equal(await inApi('id -u'), '1000')
    await t.rejects(inApi('touch /app/x'), /Read-only file system/)
    await t.rejects(inApi('ls /run/secrets/owner_database_url'), /No such file/)
    t.equal((await fetch(`${url}/metrics`)).status, 404)
    await t.rejects(
      sql('SET ROLE pet_categories_service; DROP TABLE pets'),
      /must be owner/
    )
  }
)

t.test('the proxy responds with Error bodies', async (t) => {
  const trace = await sh(`curl -sX TRACE ${url}/v1/categories`)
  t.match(JSON.parse(trace), { code: 'not_implemented', status: 501 })
  const withoutHost = await sh(`curl -sH Host: ${url}/v1/categories`)
  t.match(JSON.parse(withoutHost), { code: 'invalid_request', status: 400 })
  const long = `X-Long: ${'x'.repeat(20_000)}`
  const tooLarge = await sh(`curl -sH '${long}' ${url}/v1/categories`)
  t.match(JSON.parse(tooLarge), { code: 'headers_too_large', status: 431 })
  const expecting = await sh(`curl -sH 'Expect: much' ${url}/v1/categories`)
  t.match(JSON.parse(expecting), { code: 'unauthorized', status: 401 })
})

t.test('guesses of API keys are limited, and clients are served', async (t) => {
  const ask = async (token: string) =>
    (
      await fetch(`${url}/v1/categories`, {
        headers: { authorization: `Bearer ${token}` }
      })
    ).status
  const guesses: number[] = []
  while (guesses.length < 700)
    guesses.push(
      ...(await Promise.all(
        Array.from({ length: 50 }, () => ask(randomApiKey()))
      ))
    )
  t.same([...new Set(guesses)].sort(), [401, 429])
  t.ok(guesses.slice(0, 500).every((status) => status === 401))
  t.equal(await ask(apiKey), 200)
})

t.test('a roll and a roll back fail no request', async (t) => {
  const first = await running()
  const image = () =>
    sh("docker inspect -f '{{.Image}}' $(docker compose ps -q api)")
  const firstImage = await image()
  await production.commit()
  await underLoad(t, () => runDocumented('Upgrade'))
  t.notMatch(await running(), new RegExp(first.replaceAll('\n', '|')))
  await sh('git checkout -q HEAD~1')
  // It builds nothing.
  const withoutBuild = { NODE_IMAGE: 'missing' }
  await underLoad(t, () => runDocumented('Upgrade', 0, withoutBuild))
  t.equal(await image(), firstImage)
})

t.test('a request is found after a roll by its X-Request-Id', async (t) => {
  const headers = { authorization: `Bearer ${apiKey}`, 'x-request-id': 'mine' }
  await fetch(`${url}/v1/categories`, { headers })
  await runDocumented('Upgrade')
  const lines = await runDocumented('Find a request', 0, { REQUEST_ID: 'mine' })
  t.match(lines, /"operation":"listCategories"/)
})

t.test('a roll that fails, or is interrupted, changes nothing', async (t) => {
  const before = await running()
  await t.rejects(sh('flock deploy deploy/roll'), /Nothing was changed/)
  await production.commit()
  await underLoad(t, async () => {
    const roll = runDocumented('Upgrade', 0, { LOG_LEVEL: 'mistake' })
    await t.rejects(roll, /LOG_LEVEL[^]*The old one goes on/)
    await t.rejects(
      sh(`deploy/roll & roll=$!
        until [ "$(docker compose ps -q api | wc -l)" -gt 2 ]; do sleep 0.1; done
        kill $roll; wait $roll`),
      /The old one goes on/
    )
  })
  t.equal(await running(), before)
})

t.test('a killed replica', async (t) => {
  await underLoad(
    t,
    () => sh('docker kill $(docker compose ps -q api | sed -n 1p)'),
    outage
  )
  await runDocumented('Upgrade')
  const states = await sh(
    "docker compose ps -a api --format '{{.Image}} {{.State}}' | sort -u"
  )
  t.match(states, /^\S+ running$/, 'the roll has removed it')
})

t.test('a frozen replica', (t) =>
  underLoad(
    t,
    () =>
      sh(
        'api=$(docker compose ps -q api | sed -n 1p); docker kill -s STOP $api; sleep 20; docker kill -s CONT $api'
      ),
    outage
  )
)

t.test('a killed database', (t) =>
  underLoad(
    t,
    () =>
      sh(
        'docker kill $(docker compose ps -q db); docker compose up -d --wait db'
      ),
    outage
  )
)

t.test('the proxy loads its configuration', async (t) => {
  await sh(
    `sed -i '/default_backend api/i http-request return status 200 if { path /added }' deploy/proxy/haproxy.cfg`
  )
  await underLoad(t, () => runDocumented('Configure'))
  t.equal((await fetch(`${url}/added`)).status, 200)
  await sh('git checkout deploy/proxy; docker compose kill -s USR2 proxy')
})

t.test('dump and restore, with objects of other owners', async (t) => {
  await sql(`
    CREATE ROLE consumer LOGIN PASSWORD 'secret';
    CREATE SCHEMA consumer AUTHORIZATION consumer;
    CREATE TABLE consumer.processed (id uuid PRIMARY KEY REFERENCES messages);
    ALTER TABLE consumer.processed OWNER TO consumer;
    CREATE FUNCTION consumer.f() RETURNS int RETURN 1;
    ALTER FUNCTION consumer.f OWNER TO consumer;
    CREATE PUBLICATION events FOR TABLE messages;
    GRANT SELECT ON messages TO consumer;
    ALTER DATABASE pet_categories SET log_min_duration_statement = 2000;
    GRANT CREATE ON DATABASE pet_categories TO consumer`)
  const state = () =>
    sql(`SELECT (SELECT count(*) FROM categories), (SELECT count(*) FROM consumer.processed),
      (SELECT json_agg(pubname) FROM pg_publication), has_database_privilege('consumer', 'pet_categories', 'CREATE'),
      (SELECT setconfig FROM pg_db_role_setting JOIN pg_database ON pg_database.oid = setdatabase WHERE datname = current_database())`)
  const before = await state()
  let DUMP = ''
  await underLoad(t, async () => {
    DUMP = lastLine(await runDocumented('Back up'))
  })
  const modes = await sh(`stat -c %a ${DUMP.replace(/dump$/, '*')}`)
  t.equal(modes, '600\n600\n600')

  await t.rejects(
    runDocumented('Restore', 0, { DUMP: path.join(production.clone, '.env') })
  )
  const drop = lastLine(await runDocumented('Restore', 0, { DUMP }))
  const [, ...rest] = (await state()).split('|')
  t.same(rest, before.split('|').slice(1))
  await sh(drop)

  await sql(
    'ALTER TABLE categories DISABLE TRIGGER USER; DELETE FROM categories'
  )
  await t.rejects(runDocumented('Back up'), /had \d+ rows[^]*\.suspect/)
  await runDocumented('Restore', 0, { DUMP })
})

t.test('the last dumps are kept, whatever their age', async (t) => {
  const old = path.join(backups, 'petcat-test-2020-01-0')
  await sh(
    `for day in 1 2 3; do touch ${old}\${day}T00-00-00Z.dump ${old}\${day}T00-00-00Z.rows; done`
  )
  const keep = (count: number) =>
    sh(`deploy/backup "$BACKUPS" ${count}; ls "$BACKUPS"/*.dump`)
  t.match(await keep(4), /2020-01-03/)
  t.notMatch(await keep(2), /2020/)
})

t.test('staging is upgraded beside production', async (t) => {
  const before = await running()
  await staging.runDocumented('Install')
  await staging.commit()
  await underLoad(t, async () => {
    await staging.runDocumented('Upgrade')
    await sh('docker compose up -d --wait')
  })
  t.equal(await running(), before)
})

t.test('PostgreSQL is upgraded to a major version', async (t) => {
  const upgrade = async () => {
    const DUMP = lastLine(await runDocumented('Upgrade PostgreSQL'))
    await runDocumented('Upgrade PostgreSQL', 1, { DUMP })
  }
  await underLoad(t, upgrade, outage, documentedRetries(100))
  t.match(await sql('SHOW server_version'), /^18/)
  await sql('SET ROLE consumer; SELECT FROM messages')
})

t.test('a failover to a synchronous standby, ten times', async (t) => {
  t.teardown(() =>
    sh('docker ps -aq --filter name=petcat-test-standby | xargs docker rm -f')
  )
  // Each standby copies pg_hba.conf, needs as many connections as the primary, and gets its
  // name when that is gone.
  await sh(
    `docker compose exec -T db sh -c 'echo "host replication all all scram-sha-256" >>$PGDATA/pg_hba.conf'`
  )
  await sql('SELECT pg_reload_conf()')
  await underLoad(
    t,
    () =>
      sh(`
    image=$(docker inspect -f '{{.Config.Image}}' $(docker compose ps -q db))
    primary=$(docker inspect -f '{{slice .Name 1}}' $(docker compose ps -q db))
    psql() { docker exec "$1" psql -qAtX -v ON_ERROR_STOP=1 -U postgres -c "$2"; }
    for round in 1 2 3 4 5 6 7 8 9 10; do
      standby=petcat-test-standby-$round
      docker run -d --name $standby --network petcat-test_back --user postgres \
        -e PGPASSWORD=$(cat secrets/postgres_password) --entrypoint bash $image -ec '
          pg_basebackup -h db -U postgres -D /tmp/data -R -X stream -c fast
          exec postgres -D /tmp/data -c listen_addresses=* -c max_connections=200' >/dev/null
      psql $primary "ALTER SYSTEM SET synchronous_standby_names = 'walreceiver'"
      psql $primary 'SELECT pg_reload_conf()' >/dev/null
      until [ "$(psql $primary "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'")" = sync ]; do docker exec $standby sleep 0.2; done
      sleep 2
      docker kill $primary >/dev/null
      docker network disconnect petcat-test_back $primary
      psql $standby 'SELECT pg_promote()' >/dev/null
      psql $standby 'ALTER SYSTEM RESET synchronous_standby_names'
      psql $standby 'SELECT pg_reload_conf()' >/dev/null
      docker network disconnect petcat-test_back $standby
      docker network connect --alias db petcat-test_back $standby
      primary=$standby
      until curl -sf ${url}/readyz >/dev/null; do sleep 0.2; done
      sleep 1
    done`),
    outage
  )
})

t.test('alerts fire when they should', (t) =>
  t.resolves(
    sh(`docker compose run --rm --no-deps -T -e TMPDIR=/prometheus \\
      --entrypoint promtool prometheus test rules /etc/prometheus/alerts.test.yml`)
  )
)
