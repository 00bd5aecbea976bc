// Tests deploy/kubernetes and the commands of docs/kubernetes.md on a real
// cluster: npm run kubernetes --prefix tools/deploy-check. Takes some minutes.
//
//   KUBERNETES_CONTEXT  the kubectl context of a cluster for tests, with two
//                       nodes or more, whose node ports are reachable
//   LOAD_IMAGES         a shell command that gives its nodes the images on
//                       stdin, such as `kind load image-archive /dev/stdin`
import { rmSync } from 'node:fs'
import t from 'tap'
import { until } from '../../test/support/until.ts'
import { eventually, Installation, isConfined } from './installation.ts'
import { outage } from './under-load.ts'

const image = 'petcat-kubernetes-test'
const namespace = 'pet-categories-staging'
const database = 'pet-categories-test-database'
const installation = new Installation({
  pages: ['docs/kubernetes.md', 'docs/runbook.md'],
  functions: 1,
  psql: 'kubectl -n $DATABASE_NAMESPACE exec db-0 -- psql -U postgres -d pet_categories',
  environment: {
    ENVIRONMENT: 'staging',
    IMAGE: image,
    DATABASE_NAMESPACE: database,
    DATABASE_POD: 'db-0',
    // `kubectl config set-context` changes this copy only.
    KUBECONFIG: 'kubeconfig'
  }
})
const { block, documented, edit, folder, incident, newKey } = installation
const { read, sh, sql, underLoad } = installation

const kubectl = (command: string, variables?: Record<string, string>) =>
  sh(`kubectl ${command}`, variables)

/** What a JSONPath selects of resources. */
const valueOf = (resources: string, jsonPath: string) =>
  kubectl(`get ${resources} -o jsonpath='{${jsonPath}}'`)

/** What a JSONPath selects of each pod. */
const ofPods = async (jsonPath: string): Promise<string[]> => {
  const values = await valueOf('pods -l app=api', `.items[*]${jsonPath}`)
  return values.match(/\S+/g) ?? []
}

const podNames = () => ofPods('.metadata.name')

const nodeOfDatabase = () =>
  valueOf('pod db-0 -n $DATABASE_NAMESPACE', '.spec.nodeName')

/** Resolves when the service has so many pods, none of them still stopping. */
const settled = (count: number) =>
  until(
    async () => (await podNames()).length === count,
    `there are ${count} pods`
  )

const overlay = 'deploy/kubernetes/staging/kustomization.yaml'

/** Sets the tag of the image in the overlay. */
const setVersion = (version: string) =>
  edit(overlay, /newName:.*/g, `newName: ${image}, newTag: ${version} }`)

t.before(async () => {
  for (const name of ['KUBERNETES_CONTEXT', 'LOAD_IMAGES']) {
    if (!process.env[name])
      throw new Error(`Set ${name}: ${import.meta.filename} describes it`)
  }
  await kubectl(
    'config view --raw --minify --flatten --context="$KUBERNETES_CONTEXT" >kubeconfig',
    { KUBECONFIG: process.env['KUBECONFIG'] ?? '' }
  )
  // Fails when it exists: it may not be ours.
  await kubectl('create namespace $DATABASE_NAMESPACE')
  t.teardown(async () => {
    await sh(`
      kubectl delete namespace --wait=false --ignore-not-found $DATABASE_NAMESPACE ${namespace}
      docker image rm -f $IMAGE:one $IMAGE:two $IMAGE:bad`)
    rmSync(folder, { recursive: true })
  })

  await sh(`
    docker build -q -t $IMAGE:one --build-arg VERSION=one --build-arg NODE_IMAGE .
    derive() {
      printf 'FROM %s:one\nCOPY --chmod=755 migrations dist/migrations' $IMAGE |
        docker build -q -t $IMAGE:$1 -f - .
    }
    echo 'CREATE TABLE next (id bigint)' >migrations/9999_next.sql
    derive two
    echo 'SELECT missing' >migrations/9999_bad.sql
    derive bad
    docker save $IMAGE:one $IMAGE:two $IMAGE:bad postgres:17-alpine |
      { eval "$LOAD_IMAGES"; }
    DATABASE_HOST=db.$DATABASE_NAMESPACE deploy/secrets
    kubectl -n $DATABASE_NAMESPACE create secret generic secrets --from-file=secrets
    kubectl -n $DATABASE_NAMESPACE create configmap roles --from-file=deploy/roles.sh
    kubectl -n $DATABASE_NAMESPACE apply -f deploy/kubernetes/test-database.yaml
    kubectl -n $DATABASE_NAMESPACE rollout status statefulset/db --timeout=5m`)
})

/** Publishes the service on a port of every node. Returns the URL on one. */
async function publish(node: string): Promise<string> {
  await kubectl('expose deployment/api --type=NodePort --name=outside')
  const port = await valueOf(
    'service outside',
    '.spec.ports[?(@.targetPort==3000)].nodePort'
  )
  const address = '.status.addresses[?(@.type=="InternalIP")].address'
  return `http://${await valueOf(`node ${node}`, address)}:${port}`
}

t.test('the documented commands install the service', async (t) => {
  setVersion('one')
  // On a slow machine, a commit may take longer than 5 s; on a fast one, a
  // pod may get 60,000 requests a minute.
  edit(
    overlay,
    'LOG_LEVEL=',
    'DATABASE_TIMEOUT_MS=20000, MAX_REQUESTS_PER_MINUTE=0, LOG_LEVEL='
  )
  await documented('Install')
  await settled(2)
  t.equal(new Set(await ofPods('.spec.nodeName')).size, 2, 'on two nodes')
  t.equal(await kubectl('get jobs -o name'), 'job.batch/migrate')
  installation.key = await newKey()
  installation.url = await publish(await nodeOfDatabase())
  await eventually(installation.serves, 'the service responds')
})

t.test(
  'the cluster accepts production, where only the gateway sends requests',
  async (t) => {
    const production = 'namespace pet-categories-production'
    t.teardown(() => kubectl(`delete --wait=false ${production}`))
    await sh(`
      kubectl create ${production}
      kubectl apply --dry-run=server --validate=strict -k deploy/kubernetes/production`)

    edit(
      'deploy/kubernetes/production/kustomization.yaml',
      'components: []',
      'components: [../gateway, ../monitoring]'
    )
    const manifests = await kubectl('kustomize deploy/kubernetes/production')
    t.match(manifests, 'gateway.networking.k8s.io/gateway-name: api')
    t.notMatch(manifests, /- ports:\n +- port: http/, 'a rule for everybody')
  }
)

t.test(
  'pods run without root, capabilities, writable files or a token',
  async (t) => {
    const exec = (command: string) =>
      kubectl(`exec deployment/api -- ${command}`)
    await isConfined(t, exec, '10001')
    await t.rejects(exec('ls /var/run/secrets/kubernetes.io'), /No such file/)
    await t.rejects(
      kubectl('run plain --image=$IMAGE:one'),
      /violates PodSecurity "restricted/
    )
  }
)

t.test('the password changes without one failed request', async (t) => {
  const heading = 'Change a password'
  const old = read('secrets/database_url').trim()
  const exported = /^export .*/.exec(block(heading))?.[0] ?? ''
  await underLoad(t, async (clients) => {
    await documented(heading)
    await settled(2)
    await sh(`${exported}\n${block(heading, 1)}`)
    await clients.stores(50)
  })
  await t.rejects(
    kubectl(`-n $DATABASE_NAMESPACE exec db-0 -- psql "${old}" -c 'SELECT 1'`),
    /password authentication failed/
  )
})

t.test(
  'a new version rolls out and back without one failed request',
  async (t) => {
    const before = await podNames()
    const images = () => ofPods('.spec.containers[0].image')
    await underLoad(t, async (clients) => {
      setVersion('two')
      await documented('Upgrade')
      await settled(2)
      t.same(await images(), [`${image}:two`, `${image}:two`])
      t.equal(await sql("SELECT to_regclass('next')"), 'next')

      await clients.stores(50)
      await documented('Roll back')
      await settled(2)
      t.same(await images(), [`${image}:one`, `${image}:one`])
    })
    const names = await podNames()
    t.notOk(before.some((name) => names.includes(name)))
  }
)

t.test('a migration that fails ends with the roll back', async (t) => {
  const hasFailed = async () =>
    /9999_bad.* failed/.test(await documented('Upgrade', 1))

  await underLoad(t, async (clients) => {
    setVersion('bad')
    await kubectl('apply -k deploy/kubernetes/staging')
    await eventually(hasFailed, 'the migration fails')
    await clients.stores(50)
    await documented('Roll back')
    t.equal(await kubectl('get jobs -o name'), '')
    await settled(2)
  })
  setVersion('one')
})

t.test('the number of replicas changes', async () => {
  for (const count of [4, 2]) {
    await documented('Scale', 0, { REPLICAS: `${count}` })
    await settled(count)
  }
})

t.test('draining a node fails no request', async (t) => {
  const used = await nodeOfDatabase()
  const drained = (await ofPods('.spec.nodeName')).find((one) => one !== used)
  t.teardown(() => kubectl(`uncordon ${drained}`))
  await underLoad(t, async () => {
    await kubectl(
      `drain ${drained} --ignore-daemonsets --delete-emptydir-data --timeout=5m`
    )
    await kubectl('rollout status deployment/api --timeout=5m')
    await settled(2)
    t.notOk((await ofPods('.spec.nodeName')).includes(String(drained)))
  })
})

t.test(
  'the database is killed, and no create is lost or doubled',
  async (t) => {
    const kill = () =>
      sh(`
        kubectl -n $DATABASE_NAMESPACE delete pod db-0 --grace-period=1
        kubectl -n $DATABASE_NAMESPACE rollout status statefulset/db --timeout=5m`)
    // After a longer outage, no pod is ready, and connections are rejected.
    await underLoad(t, kill, outage)
    // The functions of the runbook: `logs` and `top5`, `db`, `api`.
    t.match(
      await incident('errors'),
      /"operation":"createCategory","status":503/
    )
    t.match(await incident('pool exhausted'), 'max_connections')
    t.match(await incident('crash loop'), /^200$/)
  }
)
