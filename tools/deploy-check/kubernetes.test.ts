// Tests deploy/kubernetes and the commands of docs/kubernetes.md on a real
// cluster: npm run kubernetes --prefix tools/deploy-check. Takes some minutes.
//
//   KUBERNETES_CONTEXT  the kubectl context of a cluster for tests, with two
//                       nodes or more, whose node ports are reachable
//   LOAD_IMAGES         a shell command that gives its nodes the images on
//                       stdin, such as `kind load image-archive /dev/stdin`
//   NODE_OFF, NODE_ON   shell commands that power $NODE off and on, such as
//                       `docker kill $NODE` and `docker start $NODE`
import { rmSync } from 'node:fs'
import t from 'tap'
import { until } from '../../test/support/until.ts'
import { certify, eventually, Installation } from './installation.ts'
import {
  incidentsAreFound,
  isConfined,
  keysAreReplaced,
  lockIsReleased
} from './scenarios.ts'
import { outage } from './under-load.ts'

const image = 'petcat-kubernetes-test'
const namespace = 'pet-categories-staging'
const database = 'pet-categories-test-database'
const databaseHost = `db.${database}`
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
const { block, documented, edit, folder, incident, inline, left } = installation
const { read, serves, sh, sql, underLoad, write } = installation

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

const nodesInUse = async () => new Set(await ofPods('.spec.nodeName')).size

/** Resolves when the service has so many pods, none of them still stopping. */
const settled = (count: number) =>
  until(
    async () => (await podNames()).length === count,
    `there are ${count} pods`
  )

/** Resolves when a rollout has ended. */
const rolledOut = async () => {
  await kubectl('rollout status deployment/api --timeout=5m')
  await settled(2)
}

const overlay = 'deploy/kubernetes/staging/kustomization.yaml'

/** Sets the tag of the image in the overlay. */
const setVersion = (version: string) =>
  edit(overlay, /newName:.*/, `newName: ${image}, newTag: ${version} }`)

const [off, on] = [process.env['NODE_OFF'], process.env['NODE_ON']]

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

  const secrets = installation.command(
    'DATABASE_HOST=db.example.com deploy/secrets'
  )
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
    ${secrets.replace('db.example.com', databaseHost)}
    kubectl -n $DATABASE_NAMESPACE create secret generic secrets --from-file=secrets
    kubectl -n $DATABASE_NAMESPACE create configmap roles --from-file=deploy/roles.sh
    kubectl -n $DATABASE_NAMESPACE apply -f deploy/kubernetes/test-database.yaml
    kubectl -n $DATABASE_NAMESPACE rollout status statefulset/db --timeout=5m`)
})

/** A node without the database, and the address of the service on it. */
const spare = { node: '', url: '' }

/** Publishes the service on a port of every node. */
async function publish(): Promise<void> {
  await kubectl('expose deployment/api --type=NodePort --name=outside')
  const port = await valueOf(
    'service outside',
    '.spec.ports[?(@.targetPort==3000)].nodePort'
  )
  const urlOn = async (node: string) => {
    const address = '.status.addresses[?(@.type=="InternalIP")].address'
    return `http://${await valueOf(`node ${node}`, address)}:${port}`
  }
  const nodeOfDatabase = await valueOf(
    'pod db-0 -n $DATABASE_NAMESPACE',
    '.spec.nodeName'
  )
  const nodes = await valueOf('nodes', '.items[*].metadata.name')
  const isSpare = (name: string) => name !== nodeOfDatabase
  spare.node = nodes.split(' ').find(isSpare) ?? ''
  spare.url = await urlOn(spare.node)
  installation.url = await urlOn(nodeOfDatabase)
}

const firstKey = 'FIRST_API_KEY_FILE=/run/secrets/database/first_api_key,'

t.test('the documented commands install the service', async (t) => {
  setVersion('one')
  // On a slow machine, a commit may take longer than 5 s; on a fast one, a
  // pod may get 60,000 requests a minute.
  edit(
    overlay,
    'LOG_LEVEL=',
    `${firstKey} DATABASE_TIMEOUT_MS=20000, MAX_REQUESTS_PER_MINUTE=0, LOG_LEVEL=`
  )
  const file = '--from-file=first_api_key=secrets/first_api_key'
  await sh(block('Install').replace('generic database ', `$&${file} `))
  installation.key = read('secrets/first_api_key').trim()
  await publish()
  await eventually(serves, 'the first key is stored')
  edit(overlay, firstKey, '')
  await documented('Configure')
  await rolledOut()
  t.equal((await podNames()).length, 2)
  t.equal(await nodesInUse(), 2)
  t.equal(await kubectl('get jobs -o name'), 'job.batch/migrate-one')

  const before = read(overlay)
  edit(overlay, 'LOG_LEVEL=', 'IDLE_TIMEOUT_MS=80000, LOG_LEVEL=')
  const apply = 'apply --dry-run=server -k deploy/kubernetes/staging'
  t.match(await kubectl(apply), /deployment.apps\/api configured/)
  write(overlay, before)
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

/** Makes the database accept TLS, and puts its CA into secrets/. */
async function enableTls(): Promise<void> {
  const { cert, private: privateKey } = await certify(databaseHost)
  write('secrets/server.key', privateKey)
  write('secrets/server.crt', cert)
  write('secrets/database-ca.pem', cert)
  const install = `
    umask 077
    cat >/data/pgdata/$name
    chown postgres /data/pgdata/$name`
  await sh(`
    for name in server.key server.crt
    do kubectl -n $DATABASE_NAMESPACE exec -i db-0 -- env name=$name sh -c '${install}' <secrets/$name
    done`)
  await sql('ALTER SYSTEM SET ssl = on')
  await sql('SELECT pg_reload_conf()')
}

t.test('the CA is added without one failed request', async (t) => {
  await enableTls()
  const [parameters = ''] =
    /\?sslmode=[^`]+/.exec(read('docs/kubernetes.md')) ?? []
  for (const name of ['database_url', 'owner_database_url'])
    edit(`secrets/${name}`, '\n', `${parameters}\n`)

  await underLoad(t, async () => {
    await sh(
      block('Change a secret').replaceAll(
        '--from-file=url=',
        '--from-file=ca.pem=secrets/database-ca.pem --from-file=url='
      )
    )
    await settled(2)
  })
})

t.test('the secrets of gateway and registry are stored', async (t) => {
  await inline(
    'kubectl create secret tls tls --cert=$CERTIFICATE --key=$PRIVATE_KEY --dry-run=client -o yaml | kubectl apply -f -',
    { CERTIFICATE: 'secrets/server.crt', PRIVATE_KEY: 'secrets/server.key' }
  )
  await documented('A private registry', 0, {
    REGISTRY: 'registry.example.com',
    REGISTRY_USER: 'puller',
    REGISTRY_PASSWORD: 'secret'
  })
  const [patch = ''] =
    /^- target: \{ kind: ServiceAccount \}$[^]*?(?=^```)/m.exec(
      read('docs/kubernetes.md')
    ) ?? []
  const before = read(overlay)
  write(overlay, before + patch.replaceAll(/^/gm, '  '))
  edit(overlay, 'newName: ', 'newName: registry.example.com:5000/')
  const manifests = await kubectl('kustomize deploy/kubernetes/staging')
  t.equal(manifests.match(/^imagePullSecrets:$/gm)?.length, 2)
  t.match(manifests, '\n  name: migrate-one\n')
  write(overlay, before)
})

t.test('the Job of images without a tag is named and deleted', async (t) => {
  edit(overlay, /^transformers: /m, '# transformers: ')
  await underLoad(t, async () => {
    await sh(`
      kubectl apply -k deploy/kubernetes/staging
      kubectl wait --for=condition=complete job/migrate-tag --timeout=5m`)
    await documented('Images by digest')
  })
  t.notMatch(await kubectl('get jobs -o name'), 'migrate-tag')
  edit(overlay, /^# transformers: /m, 'transformers: ')
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

t.test(
  'a version that crashes when it was ready replaces no pod',
  async (t) => {
    const before = await podNames()
    const command = '["timeout", "8", "node", "dist/src/main.js"]'
    const restartCount = '.status.containerStatuses[0].restartCount'
    const hasCrashed = async () =>
      (await ofPods(restartCount)).some((count) => count !== '0')
    const crashAndRollBack = async () => {
      await kubectl(
        `patch deployment api --type=json \
          --patch='[{"op": "add", "path": "/spec/template/spec/containers/0/command", "value": ${command}}]'`
      )
      await eventually(hasCrashed, 'the new version crashes')
      await inline(
        'kubectl logs -l app=api --previous --tail=5 --ignore-errors'
      )
      const names = await podNames()
      t.ok(before.every((name) => names.includes(name)))
      await documented('Roll back')
      await settled(2)
    }
    // A pod that crashes closes its connections.
    await underLoad(t, crashAndRollBack, ['lost'])
  }
)

t.test('scaling from two to six and back fails no request', async (t) => {
  await underLoad(t, async () => {
    await documented('Scale', 0, { REPLICAS: '6' })
    await kubectl(
      "wait deployment/api --for=jsonpath='{.status.readyReplicas}'=6 --timeout=5m"
    )
  })
  // These clients have connections to each of the six.
  const scaleDown = async () => {
    await documented('Scale', 0, { REPLICAS: '2' })
    await settled(2)
  }
  await underLoad(t, scaleDown, [], spare.url)
})

t.test('draining a node fails no request', async (t) => {
  t.teardown(() => kubectl(`uncordon ${spare.node}`))
  await underLoad(t, async () => {
    await kubectl(
      `drain ${spare.node} --ignore-daemonsets --delete-emptydir-data --timeout=5m`
    )
    await rolledOut()
    t.notOk((await ofPods('.spec.nodeName')).includes(spare.node))
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
    t.match(
      await incident('errors'),
      /"operation":"createCategory","status":503/
    )
  }
)

t.test('the commands of incidents find what they look for', async (t) => {
  await underLoad(t, async () => {
    await incident('database down')
    await incidentsAreFound(t, installation)
    t.match(await inline('kubectl get pods'), /^api-.* Running/m)
    t.match(await inline('kubectl get hpa api'), /<unknown>/)
    await inline('kubectl logs -l app=migrate --tail=20')
    const version = await inline('kubectl exec deployment/api -- cat VERSION')
    t.match(version, /^\d+\.\d+\.\d+-[0-9a-f]{12}$/)
  })
  await lockIsReleased(t, installation)
})

t.test('keys are rotated, found and revoked', (t) =>
  underLoad(t, () => keysAreReplaced(t, installation))
)

t.test(
  'a node is lost: its pods move, and no create is lost',
  { skip: off && on ? false : 'NODE_OFF and NODE_ON are not set' },
  async (t) => {
    // Spreads the pods again after the drain.
    const [moved = ''] = await podNames()
    await kubectl(`delete pod ${moved}`)
    await rolledOut()
    t.equal(await nodesInUse(), 2)
    const loseNode = async () => {
      await sh('eval "$NODE_OFF"', { NODE: spare.node })
      t.teardown(() => sh('eval "$NODE_ON"', { NODE: spare.node }))
      await kubectl(
        `wait node/${spare.node} --for=condition=Ready=Unknown --timeout=5m`
      )
      await until(
        async () => (await podNames()).length > 2,
        'a pod is replaced'
      )
      await kubectl('rollout status deployment/api --timeout=5m')
    }
    await underLoad(t, loseNode, ['lost'])
  }
)

t.test('CloudNativePG gets the passwords of secrets/', async (t) => {
  const variables = { DATABASE_NAMESPACE: `${database}-cnpg` }
  t.teardown(() => kubectl('delete namespace $DATABASE_NAMESPACE', variables))
  await sh('rm -r secrets')
  await inline(
    'DATABASE_HOST=db-rw.$DATABASE_NAMESPACE deploy/secrets',
    variables
  )
  // Without the kinds of its operator.
  await sh(block('CloudNativePG').replace('apply -k', 'kustomize'), variables)
  const get = 'get secret service -o jsonpath={.data.password}'
  const password = await sh(
    `kubectl -n $DATABASE_NAMESPACE ${get} | base64 -d`,
    variables
  )
  t.match(read('secrets/database_url'), `:${password}@db-rw.`)
})

t.test('every command of the pages has run', (t) => {
  t.same(left('docs/kubernetes.md'), [])
  const onKubernetes = (line: string) => line.includes('kubectl')
  t.same(left('docs/runbook.md', onKubernetes), [])
  t.end()
})
