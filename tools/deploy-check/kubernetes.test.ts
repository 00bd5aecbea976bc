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
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { lastLine, status } from '../../test/support/installation.ts'
import { documentedSql } from '../../test/support/documented-sql.ts'
import { until } from '../../test/support/until.ts'
import { isConfined } from './confined.ts'
import { FreshClone } from './fresh-clone.ts'
import { incidentsAreFound, lockIsReleased } from './incident-commands.ts'
import {
  type Clients,
  databaseOutage,
  outage,
  underLoad
} from './under-load.ts'

const image = 'petcat-kubernetes-test'
const database = 'pet-categories-test-database'
const databaseHost = `db.${database}`
const environment = {
  ...process.env,
  ENVIRONMENT: 'staging',
  IMAGE: image,
  DATABASE: database,
  // `kubectl config set-context` changes this copy only.
  KUBECONFIG: 'kubeconfig'
}
const clone = new FreshClone(['docs/kubernetes.md'], environment)
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

/** Runs a block of commands of an incident of docs/runbook.md. */
const incident = (name: string, block = 0, more = {}) => {
  const pages = ['docs/runbook.md']
  const functions = clone.block('Incidents', 1, pages)
  const commands = clone.block(`Incident: ${name}`, block, pages)
  return sh(`${functions}\n${commands}`, more)
}

/** Runs a command in a sentence or table of a page. */
const inline = (command: string, more = {}) =>
  sh(clone.inlineCommand(command), more)

/** Resolves when the service has so many pods, none of them still stopping. */
const settled = (count: number) =>
  until(async () => (await pods()).length === count, `there are ${count} pods`)

const nodesInUse = async () =>
  new Set((await pods()).map(({ spec }) => spec.nodeName)).size

let [key, url, spareNode, spareUrl] = ['', '', '', '']

/** Runs commands while clients create, see `underLoad`. */
const whileCreating = (
  t: Test,
  run: (clients: Clients) => Promise<unknown>,
  expected?: string[]
) => underLoad(t, { url, key }, run, expected)

const installSecrets = clone
  .inlineCommand('DATABASE_HOST=db.example.com deploy/secrets')
  .replace('db.example.com', databaseHost)

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
        $DATABASE pet-categories-staging
      docker image rm -f $IMAGE:one $IMAGE:two $IMAGE:bad`
    )
    clone.remove()
  })
  writeFileSync(
    path.join(folder, 'migrations/9999_next.sql'),
    'CREATE TABLE next (id bigint);\n'
  )
  await sh(`
    docker build -q -t $IMAGE:one --build-arg VERSION=one .
    printf 'FROM %s:one\nCOPY migrations dist/migrations' $IMAGE | docker build -q -t $IMAGE:two -f - .
    echo 'SELECT missing' >migrations/9999_bad.sql
    printf 'FROM %s:one\nCOPY migrations dist/migrations' $IMAGE | docker build -q -t $IMAGE:bad -f - .
    docker save $IMAGE:one $IMAGE:two $IMAGE:bad postgres:17-alpine | { eval "$LOAD_IMAGES"; }
    ${installSecrets}
    kubectl -n $DATABASE create secret generic secrets --from-file=secrets
    kubectl -n $DATABASE create configmap roles --from-file=deploy/roles.sh
    kubectl -n $DATABASE apply -f deploy/kubernetes/test-database.yaml
    kubectl -n $DATABASE rollout status statefulset/db --timeout=5m`)
})

const addressOf = (node: string) =>
  sh(
    `kubectl get node ${node} -o jsonpath='{.status.addresses[?(@.type=="InternalIP")].address}'`
  )

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
    const port = await sh(
      "kubectl get service outside -o jsonpath='{.spec.ports[?(@.targetPort==3000)].nodePort}'"
    )
    const nodes = (await sh('kubectl get nodes -o name'))
      .split('\n')
      .map((name) => name.replace('node/', ''))
    spareNode = nodes.find((name) => name !== node) ?? ''
    url = `http://${await addressOf(node)}:${port}`
    spareUrl = `http://${await addressOf(spareNode)}:${port}`
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
  'pods run without root, capabilities, writable files or a token; others are rejected',
  async (t) => {
    const exec = (command: string) =>
      sh(`kubectl exec deployment/api -- ${command}`)
    await isConfined(t, exec, '10001')
    await t.rejects(exec('ls /var/run/secrets/kubernetes.io'), /No such file/)
    await t.rejects(
      sh('kubectl run plain --image=$IMAGE:one'),
      /violates PodSecurity "restricted/
    )
  }
)

t.test('a variable is changed without one failed request', async (t) => {
  await sh(`sed -i 's/LOG_LEVEL=[a-z]*/LOG_LEVEL=info/' ${overlay}`)
  await whileCreating(t, async () => {
    await documented('Configure')
    await settled(2)
  })
  const level = 'kubectl exec deployment/api -- printenv LOG_LEVEL'
  t.equal(await sh(level), 'info')
})

/** Makes the database accept TLS, and puts its CA into secrets/. */
async function enableTls(): Promise<void> {
  const host = databaseHost
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
    await whileCreating(t, async () => {
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

t.test('a certificate of the gateway is replaced', async (t) => {
  const files = {
    CERTIFICATE: 'secrets/server.crt',
    PRIVATE_KEY: 'secrets/server.key'
  }
  await inline(
    'kubectl create secret tls tls --cert=$CERTIFICATE --key=$PRIVATE_KEY --dry-run=client -o yaml | kubectl apply -f -',
    files
  )
  const type = 'kubectl get secret tls -o jsonpath={.type}'
  t.equal(await sh(type), 'kubernetes.io/tls')
})

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
  await whileCreating(t, async () => {
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
    const images =
      "kubectl get pods -l app=api -o jsonpath='{.items[*].spec.containers[0].image}'"
    await whileCreating(t, async (clients) => {
      await setVersion('two')
      await documented('Upgrade')
      await settled(2)
      t.equal(await sh(images), `${image}:two ${image}:two`)
      t.equal(await sql("SELECT to_regclass('next')"), 'next')

      await clients.stores(50)
      await documented('Roll back')
      await settled(2)
      t.equal(await sh(images), `${image}:one ${image}:one`)
    })
    const names = await podNames()
    t.notOk(before.some((name) => names.includes(name)))
  }
)

t.test('a migration that fails ends with the roll back', async (t) => {
  const hasFailed = async () => {
    const reason = await documented('Upgrade', 1).catch(() => '')
    return reason.includes('migration 9999_bad failed')
  }
  const isGone = async () => (await pods('app=migrate')).length === 0

  await whileCreating(t, async (clients) => {
    await setVersion('bad')
    await sh('kubectl apply -k deploy/kubernetes/staging')
    await until(hasFailed, 'the migration fails', 60)
    await clients.stores(50)

    await documented('Roll back')
    t.equal(await sh('kubectl get jobs -o name'), '')
    await until(isGone, 'the migration is gone', 60)
    await settled(2)
  })
  await setVersion('one')
})

t.test(
  'a version that crashes some seconds after it was ready replaces no pod',
  async (t) => {
    const before = await podNames()
    const command = '["timeout", "8", "node", "dist/src/main.js"]'
    const hasCrashed = (pod: Pod) =>
      pod.status.containerStatuses?.some(({ restartCount }) => restartCount > 0)

    const crashAndRollBack = async () => {
      await sh(
        `kubectl patch deployment api --type=json \
          --patch='[{"op": "add", "path": "/spec/template/spec/containers/0/command", "value": ${command}}]'`
      )
      await until(
        async () => (await pods()).some(hasCrashed),
        'the new version crashes',
        60
      )
      await inline(
        'kubectl logs -l app=api --previous --tail=5 --ignore-errors'
      )
      const names = await podNames()
      t.ok(before.every((name) => names.includes(name)))
      await documented('Roll back')
      await settled(2)
    }
    // A pod that crashes closes its connections.
    await whileCreating(t, crashAndRollBack, ['lost'])
  }
)

t.test(
  'a version that does not become ready does not replace the one that runs',
  async (t) => {
    await whileCreating(t, async (clients) => {
      await sh('kubectl set env deployment/api DATABASE_TIMEOUT_MS=1')
      await t.rejects(
        sh('kubectl rollout status deployment/api --timeout=15s'),
        /timed out/
      )
      await clients.stores(50)
      await documented('Roll back')
      await settled(2)
    })
  }
)

/** Lists on a connection of its own, as a new client does. */
async function listOnNewConnection(): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, connection: 'close' }
  const response = await fetch(`${url}/v1/pets`, { headers })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`a list got ${response.status}`)
}

/** Sends new clients. Returns whether each replica has served one. */
async function allServe(): Promise<boolean> {
  await Promise.all(Array.from({ length: 32 }, listOnNewConnection))
  const metrics = await Promise.all((await pods()).map(metricsOf))
  const hasListed =
    /^http_request_duration_seconds_count\{.*listPets.*\} [1-9]/m
  return metrics.every((text) => hasListed.test(text))
}

t.test(
  'scaling from two to six and back fails no request, and all six serve',
  async (t) => {
    await whileCreating(t, async () => {
      await documented('Scale', 0, { REPLICAS: '6' })
      await sh(
        "kubectl wait deployment/api --for=jsonpath='{.status.readyReplicas}'=6 --timeout=5m"
      )
      await until(allServe, 'all six serve')
    })
    // These clients have connections to each of the six.
    await underLoad(t, { url: spareUrl, key }, async () => {
      await documented('Scale', 0, { REPLICAS: '2' })
      await settled(2)
    })
  }
)

t.test('draining a node fails no request', async (t) => {
  t.teardown(() => sh(`kubectl uncordon ${spareNode}`))
  await whileCreating(t, async () => {
    await sh(
      `kubectl drain ${spareNode} --ignore-daemonsets --delete-emptydir-data --timeout=5m`
    )
    await sh('kubectl rollout status deployment/api --timeout=5m')
    await settled(2)
    t.notOk((await pods()).some(({ spec }) => spec.nodeName === spareNode))
  })
})

t.test(
  'the database is killed under creates, and no acknowledged one is lost or doubled',
  async (t) => {
    const kill = async () => {
      await sh('kubectl -n $DATABASE delete pod db-0 --grace-period=1')
      await sh(
        'kubectl -n $DATABASE rollout status statefulset/db --timeout=5m'
      )
    }
    // After a longer outage, no pod is ready, and connections are rejected.
    await whileCreating(t, kill, outage)
    t.match(
      await incident('errors'),
      /"operation":"createCategory","status":503/
    )
  }
)

t.test('the commands of incidents find what they look for', async (t) => {
  await whileCreating(t, async () => {
    await incident('database down')
    await incidentsAreFound(t, incident)
    t.match(await inline('kubectl get pods'), /^api-.* Running/m)
    t.match(await inline('kubectl get hpa api'), /<unknown>/)
  })
})

t.test('a locked table is found and released as documented', async (t) => {
  // Some creates may wait for longer than DATABASE_TIMEOUT_MS.
  const release = () => lockIsReleased(t, incident, sql)
  await whileCreating(t, release, databaseOutage)
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
  let successor = ''
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
  const isRevoked = async () => (await statuses()).every((one) => one === '401')

  await whileCreating(t, async () => {
    successor = lastLine(await documented('Keys', 0, { ID: '1' }))
    t.same(await statuses(), ['200', '200'])
    await documented('Keys', 1, { ID: '2' })
    await until(isRevoked, 'the key is revoked')
  })
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
    const loseNode = async () => {
      await sh('eval "$NODE_OFF"', { NODE: spareNode })
      t.teardown(() => sh('eval "$NODE_ON"', { NODE: spareNode }))
      await sh(
        `kubectl wait node/${spareNode} --for=condition=Ready=Unknown --timeout=5m`
      )
      await until(async () => (await pods()).length > 2, 'a pod is replaced')
      await sh('kubectl rollout status deployment/api --timeout=5m')
    }
    await whileCreating(t, loseNode, ['lost'])
  }
)
