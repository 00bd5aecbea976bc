// Tests deploy/kubernetes and the commands of docs/kubernetes.md on a real
// cluster: npm run kubernetes --prefix tools/deploy-check. Takes some minutes.
//
//   KUBERNETES_CONTEXT  the kubectl context of a cluster for tests, with two
//                       nodes or more, whose node ports are reachable
//   LOAD_IMAGES         a shell command that gives its nodes the images on
//                       stdin, such as `kind load image-archive /dev/stdin`
//   NODE_OFF, NODE_ON   shell commands that power $NODE off and on, such as
//                       `docker kill $NODE` and `docker start $NODE`; without
//                       them, no node is lost
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import {
  lastLine,
  listed,
  notOnce,
  status,
  unfailing
} from '../../test/support/installation.ts'
import { documentedSql } from '../../test/support/documented-sql.ts'
import { type Load, startLoad } from '../../test/support/load.ts'
import { until } from '../../test/support/until.ts'
import { FreshClone } from './fresh-clone.ts'
import { extract, lastRelease } from './last-release.ts'
import { startResending } from './resending.ts'

const image = 'petcat-kubernetes-test'
const database = 'pet-categories-test-database'
const environment = {
  ...process.env,
  ENVIRONMENT: 'staging',
  IMAGE: image,
  DATABASE: database,
  DATABASE_HOST: `db.${database}`,
  // `kubectl config set-context` changes this copy only.
  KUBECONFIG: 'kubeconfig'
}
const clone = new FreshClone('docs/kubernetes.md', environment)
const { folder, sh, documented } = clone

interface Pod {
  metadata: { name: string; labels: Record<string, string> }
  spec: { nodeName: string; serviceAccountName: string }
  status: { containerStatuses?: { restartCount: number }[] }
}
const pods = async (selector = 'app=api') =>
  (
    JSON.parse(await sh(`kubectl get pods -l ${selector} -o json`)) as {
      items: Pod[]
    }
  ).items

const podNames = async () => (await pods()).map(({ metadata }) => metadata.name)

const metricsOf = ({ metadata }: Pod) =>
  sh(
    `kubectl get --raw /api/v1/namespaces/pet-categories-staging/pods/${metadata.name}:9464/proxy/metrics`
  )

const overlay = 'deploy/kubernetes/staging/kustomization.yaml'

/** Sets the tag of the image in the overlay. */
const setVersion = (version: string) =>
  sh(
    `sed -i 's/newName:.*/newName: ${image}, newTag: ${version} }/' ${overlay}`
  )

const sql = (statement: string) =>
  sh(
    `kubectl -n $DATABASE exec db-0 -- psql -U postgres -d pet_categories -Atc "${statement}"`
  )

/** Runs a block of commands of an incident of docs/operations.md. */
const incident = (name: string, block = 0, more = {}) => {
  const page = 'docs/operations.md'
  const functions = clone.block('Incidents', 1, page)
  const commands = clone.block(`Incident: ${name}`, block, page)
  return sh(`${functions}\n${commands}`, more)
}

/** Resolves when the service has so many pods, none of them still stopping. */
const settled = (count: number) =>
  until(async () => (await pods()).length === count, `there are ${count} pods`)

const nodesInUse = async () =>
  new Set((await pods()).map(({ spec }) => spec.nodeName)).size

let [key, url, spareNode] = ['', '', '']

/**
 * Runs commands under the load of clients with Idempotency-Keys. No request may
 * fail, and no create be lost or doubled.
 */
async function unnoticed(t: Test, run: () => Promise<void>): Promise<void> {
  const clients = await startResending(t, url, key)
  await clients.stores(50)
  await run()
  await clients.stores(50)
  t.same(await clients.stop(), [], 'no create is lost or doubled')
  t.same(clients.failures, {}, 'no request failed')
}

t.before(async () => {
  const missing = ['KUBERNETES_CONTEXT', 'LOAD_IMAGES'].filter(
    (name) => !process.env[name]
  )
  if (missing.length > 0) {
    throw new Error(
      `Set ${missing.join(' and ')}: deploy/kubernetes.test.ts describes them`
    )
  }
  await sh(
    'kubectl config view --raw --minify --flatten --context="$KUBERNETES_CONTEXT" >kubeconfig',
    {
      KUBECONFIG: process.env['KUBECONFIG'] ?? ''
    }
  )
  // Fails when it exists: it may not be ours.
  await sh('kubectl create namespace $DATABASE')
  t.teardown(async () => {
    await sh(
      `kubectl delete namespace --wait=false --ignore-not-found \
        $DATABASE pet-categories-staging pet-categories-released
      docker image rm -f $IMAGE:one $IMAGE:two $IMAGE:bad`
    )
    clone.remove()
  })
  writeFileSync(
    path.join(folder, 'migrations/resources/9999_next.sql'),
    'CREATE TABLE next (id bigint);\n'
  )
  await sh(`
    docker build -q -t $IMAGE:one --build-arg VERSION=one .
    printf 'FROM %s:one\nCOPY migrations dist/migrations' $IMAGE | docker build -q -t $IMAGE:two -f - .
    echo 'SELECT missing' >migrations/resources/9999_bad.sql
    printf 'FROM %s:one\nCOPY migrations dist/migrations' $IMAGE | docker build -q -t $IMAGE:bad -f - .
    docker save $IMAGE:one $IMAGE:two $IMAGE:bad postgres:17-alpine | { eval "$LOAD_IMAGES"; }
    deploy/secrets
    kubectl -n $DATABASE create secret generic secrets --from-file=secrets
    kubectl -n $DATABASE create configmap roles --from-file=deploy/roles.sh
    kubectl -n $DATABASE apply -f deploy/kubernetes/test-database.yaml
    kubectl -n $DATABASE rollout status statefulset/db --timeout=5m`)
})

t.test(
  'the documented commands install the service, which then responds',
  async (t) => {
    await setVersion('one')
    // On a slow machine, a commit may take longer than 5 s; on a fast one, a
    // pod may get 60,000 requests a minute.
    await sh(
      `sed -i 's/LOG_LEVEL=/DATABASE_TIMEOUT_MS=20000, MAX_REQUESTS_PER_MINUTE=0, LOG_LEVEL=/' ${overlay}`
    )
    await documented('Install')
    key = lastLine(await documented('Install', 1))
    t.match(key, /^petcat_[0-9a-f]{48}$/)
    await sh('kubectl expose deployment/api --type=NodePort --name=outside')
    const node = await sh(
      'kubectl -n $DATABASE get pod db-0 -o jsonpath={.spec.nodeName}'
    )
    const address = await sh(
      `kubectl get node ${node} -o jsonpath='{.status.addresses[?(@.type=="InternalIP")].address}'`
    )
    const port = await sh(
      "kubectl get service outside -o jsonpath='{.spec.ports[?(@.targetPort==3000)].nodePort}'"
    )
    url = `http://${address}:${port}`
    const nodes = (await sh('kubectl get nodes -o name'))
      .split('\n')
      .map((name) => name.replace('node/', ''))
    spareNode = nodes.find((name) => name !== node) ?? ''
    await until(
      () =>
        status(`${url}/readyz`).then(
          (s) => s === 200,
          () => false
        ),
      'the node port is open'
    )
    t.equal(
      await status(`${url}/v1/categories`, { authorization: `Bearer ${key}` }),
      200
    )
  }
)

t.test('two pods run after the installation, on different nodes', async (t) => {
  const ready = 'kubectl get deployment api -o jsonpath={.status.readyReplicas}'
  t.equal(await sh(ready), '2')
  t.equal((await pods()).length, 2)
  t.equal(await nodesInUse(), 2)
})

t.test(
  'pods have the recommended labels, and a role of their own',
  async (t) => {
    for (const app of ['api', 'migrate']) {
      const [pod] = await pods(`app=${app}`)
      t.equal(pod?.spec.serviceAccountName, app)
      t.match(pod?.metadata.labels, {
        'app.kubernetes.io/name': 'pet-categories',
        'app.kubernetes.io/instance': 'pet-categories-staging',
        'app.kubernetes.io/version': 'one',
        'app.kubernetes.io/part-of': 'pet-categories',
        'app.kubernetes.io/managed-by': 'kustomize'
      })
    }
    t.equal(await sh('kubectl get jobs -o name'), 'job.batch/migrate-one')
  }
)

t.test('the manifests apply over those of the last release', async (t) => {
  const release = path.join(folder, 'release')
  mkdirSync(release)
  extract(lastRelease(), release, 'deploy/kubernetes')

  const namespace = 'pet-categories-released'
  for (const version of ['release', '.']) {
    const applied = {
      namespace,
      resources: [`../${version}/deploy/kubernetes/staging`]
    }
    await sh(`
      mkdir -p applied
      echo '${JSON.stringify(applied)}' >applied/kustomization.yaml
      kubectl apply -k applied`)
  }

  const selector = '-o jsonpath={.spec.selector.matchLabels}'
  t.equal(
    await sh(`kubectl -n ${namespace} get deployment api ${selector}`),
    '{"app":"api"}'
  )
})

interface NetworkPolicy {
  kind: string
  metadata: { name: string }
  spec: { ingress?: { from?: object[] }[] }
}

t.test('in production, only a gateway may send requests', async (t) => {
  const manifests = await sh('kubectl kustomize deploy/kubernetes/production')
  const policies = parseAllDocuments(manifests)
    .map((document) => document.toJS() as NetworkPolicy)
    .filter(({ kind }) => kind === 'NetworkPolicy')
  const apiPolicy = policies.find(({ metadata }) => metadata.name === 'api')
  const gateway = 'gateway.networking.k8s.io/gateway-name'
  t.same(
    apiPolicy?.spec.ingress?.map(({ from }) => from),
    [
      [
        { podSelector: { matchLabels: { [gateway]: 'api' } } },
        {
          namespaceSelector: {
            matchLabels: { 'kubernetes.io/metadata.name': 'gateway' }
          }
        }
      ]
    ]
  )
})

t.test(
  'pods run without root, capabilities, a file system to write to, or a token; others are rejected',
  async (t) => {
    t.equal(await sh('kubectl exec deployment/api -- id -u'), '10001')
    await t.rejects(
      sh('kubectl exec deployment/api -- touch /app/x'),
      /Read-only file system/
    )
    await t.rejects(
      sh('kubectl exec deployment/api -- ls /var/run/secrets/kubernetes.io'),
      /No such file/
    )
    t.match(
      await sh('kubectl exec deployment/api -- cat /proc/1/status'),
      /CapBnd:\t0+\n(.*\n)*NoNewPrivs:\t1/
    )
    await t.rejects(
      sh('kubectl run plain --image=$IMAGE:one'),
      /violates PodSecurity "restricted/
    )
  }
)

t.test('a variable is changed without one failed request', async (t) => {
  await sh(`sed -i 's/LOG_LEVEL=[a-z]*/LOG_LEVEL=info/' ${overlay}`)
  await unnoticed(t, async () => {
    await documented('Configure')
    await settled(2)
  })
  const level = 'kubectl exec deployment/api -- printenv LOG_LEVEL'
  t.equal(await sh(level), 'info')
})

/** Makes the database accept TLS, and puts its CA into secrets/. */
async function enableTls(): Promise<void> {
  const host = environment.DATABASE_HOST
  const altNames = [{ type: 2 as const, value: host }]
  const { cert, private: privateKey } = await generate(
    [{ name: 'commonName', value: host }],
    { extensions: [{ name: 'subjectAltName', altNames }] }
  )
  const files = {
    'server.key': privateKey,
    'server.crt': cert,
    'database-ca.pem': cert
  }
  for (const [name, text] of Object.entries(files))
    writeFileSync(path.join(folder, 'secrets', name), text)

  const exec = 'kubectl -n $DATABASE exec -i db-0 --'
  for (const name of ['server.key', 'server.crt']) {
    const install = `umask 077; cat >/data/pgdata/${name}; chown postgres /data/pgdata/${name}`
    await sh(`${exec} sh -c '${install}' <secrets/${name}`)
  }
  await sql('ALTER SYSTEM SET ssl = on')
  await sql('SELECT pg_reload_conf()')
}

/** Adds the parameters of a private CA to both URLs, as documented. */
function verifyDatabase(): void {
  const page = readFileSync(path.join(folder, 'docs/kubernetes.md'), 'utf8')
  const [parameters = ''] = /\?sslmode=[^`]+/.exec(page) ?? []
  for (const name of ['database_url', 'owner_database_url']) {
    const file = path.join(folder, 'secrets', name)
    writeFileSync(file, `${readFileSync(file, 'utf8').trim()}${parameters}\n`)
  }
}

/** Returns documented commands that create secrets, with the CA in them. */
function withCa(heading: string): string {
  const fromFile = '--from-file=url='
  const ca = '--from-file=ca.pem=secrets/database-ca.pem'
  return clone.block(heading).replaceAll(fromFile, `${ca} ${fromFile}`)
}

t.test(
  'the connections are encrypted after the CA is added, without one failed request',
  async (t) => {
    await enableTls()
    verifyDatabase()
    await unnoticed(t, async () => {
      await sh(withCa('Change a secret'))
      await settled(2)
    })
    const areEncrypted = `
      SELECT DISTINCT ssl
      FROM pg_stat_ssl
      JOIN pg_stat_activity USING (pid)
      WHERE application_name = 'pet-categories'`
    t.equal(await sql(areEncrypted), 't')
  }
)

/** Applies the overlay. Returns the id of the Job that has migrated then. */
async function migratedWithoutTag(): Promise<string> {
  await sh(`
    kubectl apply -k deploy/kubernetes/staging
    kubectl wait --for=condition=complete job/migrate-tag --timeout=5m`)
  return sh('kubectl get job migrate-tag -o jsonpath={.metadata.uid}')
}

t.test('images without a tag migrate again with each upgrade', async (t) => {
  const transformers = 'transformers: '
  await sh(`sed -i 's/^${transformers}/# &/' ${overlay}`)
  await unnoticed(t, async () => {
    const first = await migratedWithoutTag()
    await documented('Images by digest')
    t.not(await migratedWithoutTag(), first)
    // There is none before the first upgrade.
    await documented('Images by digest')
    await documented('Images by digest')
  })
  await sh(`sed -i 's/^# ${transformers}/${transformers}/' ${overlay}`)
})

t.test('the URLs are replaced for the next pods', async (t) => {
  await sh("sed -i 's/?.*//' secrets/database_url secrets/owner_database_url")
  const isForSecret = (line: string) => line.startsWith('kubectl create')
  // Pods with the previous URLs still read the CA.
  const commands = withCa('Change a secret').split('\n')
  await sh(commands.filter(isForSecret).join('\n'))

  const names = "kubectl get secret database -o go-template='{{len .data}}'"
  t.equal(await sh(names), '2')
})

t.test('the credentials of a private registry are stored', async (t) => {
  await documented('A private registry', 0, {
    REGISTRY: 'registry.example.com',
    REGISTRY_USER: 'puller',
    REGISTRY_PASSWORD: 'secret'
  })
  const secret = await sh(
    'kubectl get secret registry -o go-template=\'{{index .data ".dockerconfigjson" | base64decode}}\''
  )
  t.match(JSON.parse(secret), {
    auths: { 'registry.example.com': { username: 'puller' } }
  })
})

t.test(
  'a new version rolls out under load without one failed request, and so does the way back',
  async (t) => {
    const before = await podNames()
    const load = startLoad(url, key)
    await load.acknowledges(100)
    await setVersion('two')
    await documented('Upgrade')
    await settled(2)
    const images =
      "kubectl get pods -l app=api -o jsonpath='{.items[*].spec.containers[0].image}'"
    t.equal(await sh(images), `${image}:two ${image}:two`)
    t.equal(await sql("SELECT to_regclass('next')"), 'next')
    await load.acknowledges(100)
    await documented('Roll back')
    await settled(2)
    t.equal(await sh(images), `${image}:one ${image}:one`)
    await load.acknowledges(100)
    await load.stop()
    t.same(unfailing(load), [[], ['201']])
    t.same(notOnce(load.acknowledged, await listed(url, key)), [])
    const names = await podNames()
    t.notOk(before.some((name) => names.includes(name)))
  }
)

t.test('a migration that fails ends with the roll back', async (t) => {
  const load = startLoad(url, key)
  await setVersion('bad')
  await sh('kubectl apply -k deploy/kubernetes/staging')
  await until(
    async () => {
      const reason = await documented('Upgrade', 1).catch(() => '')
      return reason.includes('migration 9999_bad failed')
    },
    'the migration fails',
    60
  )
  await load.acknowledges(100)

  await documented('Roll back')
  t.equal(await sh('kubectl get jobs -o name'), '')
  await until(
    async () => (await pods('app=migrate')).length === 0,
    'the migration is gone',
    60
  )
  await settled(2)
  await load.stop()
  t.same(unfailing(load), [[], ['201']])
  await setVersion('one')
})

t.test(
  'a version that crashes some seconds after it was ready replaces no pod',
  async (t) => {
    const before = await podNames()
    const command = '["timeout", "8", "node", "dist/src/main.js"]'
    await sh(
      `kubectl patch deployment api --type=json \
        --patch='[{"op": "add", "path": "/spec/template/spec/containers/0/command", "value": ${command}}]'`
    )
    const hasCrashed = (pod: Pod) =>
      pod.status.containerStatuses?.some(({ restartCount }) => restartCount > 0)
    await until(
      async () => (await pods()).some(hasCrashed),
      'the new version crashes',
      60
    )
    const names = await podNames()
    t.ok(before.every((name) => names.includes(name)))
    await documented('Roll back')
    await settled(2)
  }
)

t.test(
  'a version that does not become ready does not replace the one that runs',
  async (t) => {
    const load = startLoad(url, key)
    await sh('kubectl set env deployment/api DATABASE_TIMEOUT_MS=1')
    await t.rejects(
      sh('kubectl rollout status deployment/api --timeout=15s'),
      /timed out/
    )
    await load.acknowledges(100)
    await documented('Roll back')
    await settled(2)
    await load.stop()
    t.same(unfailing(load), [[], ['201']])
  }
)

t.test(
  'scaling from two to six and back fails no request, and all six serve',
  async (t) => {
    const load = startLoad(url, key)
    await documented('Scale', 0, { REPLICAS: '6' })
    await sh(
      "kubectl wait deployment/api --for=jsonpath='{.status.readyReplicas}'=6 --timeout=5m"
    )
    // By new connections: the others stay where they are.
    const newcomers: Load[] = []
    const allServe = async () => {
      const newcomer = startLoad(url, key, 64)
      newcomers.push(newcomer)
      await newcomer.acknowledges(100)
      await newcomer.stop()
      const metrics = await Promise.all((await pods()).map(metricsOf))
      return metrics.every((text) =>
        /^http_request_duration_seconds_count\{.*createCategory.*\} [1-9]/m.test(
          text
        )
      )
    }
    await until(allServe, 'all six serve')
    await documented('Scale', 0, { REPLICAS: '2' })
    await settled(2)
    await load.stop()
    for (const each of [load, ...newcomers])
      t.same(unfailing(each), [[], ['201']])
  }
)

t.test('draining a node fails no request', async (t) => {
  const load = startLoad(url, key)
  await load.acknowledges(100)
  t.teardown(() => sh(`kubectl uncordon ${spareNode}`))
  await sh(
    `kubectl drain ${spareNode} --ignore-daemonsets --delete-emptydir-data --timeout=5m`
  )
  await sh('kubectl rollout status deployment/api --timeout=5m')
  await settled(2)
  t.notOk((await pods()).some(({ spec }) => spec.nodeName === spareNode))
  await load.acknowledges(100)
  await load.stop()
  t.same(unfailing(load), [[], ['201']])
})

t.test(
  'the database is killed under creates, and no acknowledged one is lost or doubled',
  async (t) => {
    const load = startLoad(url, key)
    await load.acknowledges(100)
    await sh('kubectl -n $DATABASE delete pod db-0 --grace-period=1')
    await sh('kubectl -n $DATABASE rollout status statefulset/db --timeout=5m')
    await load.acknowledges(100)
    await load.stop()
    t.same(
      Object.keys(load.responses).filter(
        (kind) => !/^(201|503 (unavailable|outcome_unknown))$/.test(kind)
      ),
      []
    )
    // After a longer outage, no pod is ready.
    t.same(
      [...new Set(load.lost)].filter(
        (error) => !error.includes('ECONNREFUSED')
      ),
      []
    )
    t.same(notOnce(load.acknowledged, await listed(url, key)), [])
    t.match(
      await incident('errors'),
      /"operation":"createCategory","status":503/
    )
  }
)

t.test('the commands of incidents find what they look for', async (t) => {
  const load = startLoad(url, key)
  await load.acknowledges(100)

  await incident('database down')
  t.match(await incident('database down', 1), /uptime.*standby/)
  t.match(await incident('disk full'), /categories[^]*slot_name/)
  t.match(await incident('disk full', 1), /DELETE 0\nVACUUM/)
  t.match(await incident('disk full', 2), /"createCategory","status":201/)
  t.match(await incident('crash loop'), /^200$/)
  t.match(await incident('database slow', 2), /runs_since/)
  t.match(await incident('pool exhausted'), /pet-categories[^]*max_connections/)
  t.match(await incident('overload'), /createCategory/)
  t.match(await incident('key expires'), /valid/)
  t.match(await incident('flood'), /"key":"1"[^]*"ip":/)
  t.match(await incident('migration pending'), /9999_next/)
  t.match(
    await incident('messages not consumed'),
    /queued.*oldest[^]*client_addr/
  )
  t.match(await incident('client addresses'), /"ip":/)
  const clocks = await incident('clock skew')
  const [replicaClock = 0, databaseClock = 0] = (
    clocks.match(/\d{10}\.\d+/g) ?? []
  ).map(Number)
  t.ok(Math.abs(replicaClock - databaseClock) < 60)
  await load.stop()
  t.same(unfailing(load), [[], ['201']])
})

t.test('a locked table is found and released as documented', async (t) => {
  const load = startLoad(url, key)
  await load.acknowledges(100)
  const locked = sql('BEGIN; LOCK TABLE categories; SELECT pg_sleep(600)')
  // Fails when its connection is ended.
  const ended = t.rejects(locked, /terminating connection/)
  const blocker = /\| +(\d+) \| psql/
  let match: RegExpExecArray | null = null
  await until(
    async () => {
      match = blocker.exec(await incident('database slow'))
      return match !== null
    },
    'the lock is found',
    60
  )
  await incident('database slow', 1, { PID: String(match?.[1]) })
  await ended
  await load.acknowledges(100)
  await load.stop()
  t.same(load.lost, [])
  t.same(notOnce(load.acknowledged, await listed(url, key)), [])
})

t.test('a consumer connects as documented', async (t) => {
  await sql(documentedSql('docs/messages.md', 'CREATE ROLE'))
  const take = documentedSql('docs/messages.md', 'WITH taken')
  await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json'
    },
    body: '{"message":"for the consumer"}'
  })
  const consumer = `postgres://consumer:change-me@db.$DATABASE/pet_categories`
  t.match(
    await sh(
      `kubectl -n $DATABASE exec db-0 -- psql ${consumer} -Atc "${take}"`
    ),
    'for the consumer'
  )
})

t.test('every replica rejects a revoked key', async (t) => {
  const successor = lastLine(await documented('Keys', 0, { ID: '1' }))
  const statuses = async () => {
    const headers = `{ headers: { authorization: 'Bearer ${successor}' } }`
    const address = 'http://127.0.0.1:3000/v1/categories'
    const request = `fetch('${address}', ${headers}).then((r) => console.log(r.status))`
    return Promise.all(
      (await pods()).map(({ metadata }) =>
        sh(`kubectl exec ${metadata.name} -- node -e "${request}"`)
      )
    )
  }
  t.same(await statuses(), ['200', '200'])
  await documented('Keys', 1, { ID: '2' })
  await until(
    async () => (await statuses()).every((one) => one === '401'),
    'the key is revoked'
  )
})

t.test('a leaked key is found by its beginning, and replaced', async (t) => {
  const leaked = lastLine(await documented('Install', 1))
  const KEY = leaked.slice(0, 15)
  await incident('key leaked', 0, { KEY })
  const list = await incident('key leaked', 3, { KEY, ID: '' })
  const [ID = ''] = list.split(' ')
  const successor = lastLine(await incident('key leaked', 1, { ID }))
  const statusOf = (apiKey: string) =>
    status(`${url}/v1/categories`, { authorization: `Bearer ${apiKey}` })
  await until(async () => (await statusOf(leaked)) === 401, 'it has ended')
  t.equal(await statusOf(successor), 200)
  t.match(await incident('key leaked', 3, { KEY, ID }), /expired/)
})

const skip =
  process.env['NODE_OFF'] && process.env['NODE_ON']
    ? false
    : 'NODE_OFF and NODE_ON are not set'
t.test(
  'a node is lost under creates: its pods move, and no acknowledged create is lost',
  { skip },
  async (t) => {
    // Spreads the pods again after the drain.
    const [moved = ''] = await podNames()
    await sh(
      `kubectl delete pod ${moved} && kubectl rollout status deployment/api --timeout=5m`
    )
    await settled(2)
    t.equal(await nodesInUse(), 2)
    const load = startLoad(url, key)
    await load.acknowledges(100)
    await sh('eval "$NODE_OFF"', { NODE: spareNode })
    t.teardown(() => sh('eval "$NODE_ON"', { NODE: spareNode }))
    await sh(
      `kubectl wait node/${spareNode} --for=condition=Ready=Unknown --timeout=5m`
    )
    await until(async () => (await pods()).length > 2, 'a pod is replaced')
    await sh('kubectl rollout status deployment/api --timeout=5m')
    await load.acknowledges(100)
    await load.stop()
    t.comment(`requests without a response: ${load.lost.length}`)
    t.comment(`acknowledged creates: ${load.acknowledged.length}`)
    t.same(
      Object.keys(load.responses).filter((kind) => kind !== '201'),
      []
    )
    t.same(notOnce(load.acknowledged, await listed(url, key)), [])
  }
)
