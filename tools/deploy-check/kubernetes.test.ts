// Deploys deploy/kubernetes by the commands of docs/growing.md into the cluster of
// kubectl, and rolls it and drains a node, while 16 clients create. Needs a Docker engine,
// two workers whose node ports answer, and LOAD_IMAGES, a command that gives every node
// the images of a tar, which is its last argument:
// TAP_TIMEOUT=1800 npm test -- tools/deploy-check/kubernetes.test.ts
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { commandsBelow, shellIn } from '../markdown-commands.ts'
import {
  documentedRetries,
  LoadGenerator
} from '../../test/support/load-generator.ts'

const login = (role: string) =>
  `postgres://${role}:test@database.default/pet_categories`
const folder = mkdtempSync(path.join(tmpdir(), 'petcat-kubernetes-'))
const sh = shellIn(folder, {
  DATABASE_URL: login('pet_categories_service'),
  OWNER_DATABASE_URL: login('pet_categories_owner')
})
const [install = '', createApiKey] = commandsBelow(
  'docs/growing.md',
  'Kubernetes'
)

/** Names the image, as the page says. */
const useImage = (tag: string) =>
  sh(`sed -i "s/newName: .*,/newName: petcat-test,/; s/newTag: .*/newTag: '${tag}'/" \\
    deploy/kubernetes/kustomization.yaml`)

for (const name of ['deploy', 'tools/deploy-check/database.yaml'])
  cpSync(name, path.join(folder, path.basename(name)), { recursive: true })
t.teardown(async () => {
  await sh(
    'kubectl delete -f database.yaml -f deploy/kubernetes/namespace.yaml'
  )
  rmSync(folder, { recursive: true })
})

await sh(`
  docker build -q -t petcat-test:1 \${NODE_IMAGE:+--build-arg NODE_IMAGE} '${process.cwd()}'
  docker tag petcat-test:1 petcat-test:2
  docker image inspect postgres:17-alpine >/dev/null || docker pull -q postgres:17-alpine
  docker save -o images.tar petcat-test:1 petcat-test:2 postgres:17-alpine
  $LOAD_IMAGES images.tar
  kubectl apply -f deploy/kubernetes/namespace.yaml -f database.yaml
  kubectl rollout status deployment/database`)
await useImage('1')
await sh(install)
const apiKey = String((await sh(createApiKey)).split('\n').at(-1))

// Requests go to the node of the database. The other one is drained.
const node = await sh(
  `kubectl get pods -l app=database -o jsonpath='{.items[0].spec.nodeName} {.items[0].status.hostIP}'`
)
const [name = '', address = ''] = node.split(' ')
const target = { url: `http://${address}:30907`, apiKey }

async function underLoad(t: Test, commands: string) {
  const load = new LoadGenerator(t, [target], documentedRetries())
  await load.waitForCreates(200)
  await sh(commands)
  await load.waitForCreates(200)
  t.same(await load.stop(), [])
  const { creates, lists, failures } = load
  t.comment(t.name, { creates, lists })
  t.same(failures, {})
}

/** The last two commands of the block, by which an upgrade begins and ends. */
const upgrade = install.trim().split('\n').slice(-2).join('\n')

t.test('a rolling restart fails no request', async (t) => {
  await useImage('2')
  await underLoad(t, upgrade)
})

t.test('the drain of a node fails no request', (t) =>
  underLoad(
    t,
    `node=$(kubectl get nodes -l '!node-role.kubernetes.io/control-plane' -o name | grep -v /${name})
    kubectl drain $node --ignore-daemonsets --delete-emptydir-data
    ${upgrade}
    kubectl uncordon $node`
  )
)
