// Each command of these pages, in a block or in a sentence, is run by a test,
// or is listed here with the reason why not.
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import {
  type CommandBlock,
  commandBlocks,
  inlineCommands,
  pagesWithCommands
} from './support/documented-commands.ts'

const operations = 'docs/operations.md'

/** The tests that run commands, and the page whose commands they are. */
const pageOf: Record<string, string> = {
  'compose-upgrade.test.ts': operations,
  'compose.test.ts': operations,
  'incident-commands.ts': operations,
  'kubernetes.test.ts': 'docs/kubernetes.md',
  'readme.test.ts': 'README.md'
}
/** The blocks that no test runs, and why. */
const notRun: Record<string, string> = {
  'README.md: For operators 0': 'they are commands of docs/operations.md',
  'README.md: For contributors 0': '.ci/run and the Dockerfile run them',
  'docs/operations.md: Incident: certificate expired 0':
    'needs a public host name',
  'docs/operations.md: A minor version 0': 'needs a registry of images',
  'docs/kubernetes.md: CloudNativePG 0': 'needs its operator'
}

const nameOf = (page: string, { heading, index }: CommandBlock) =>
  `${page}: ${heading} ${index}`

const documented = new Map(
  pagesWithCommands.flatMap((page) =>
    commandBlocks(page).map((block) => [nameOf(page, block), block])
  )
)

/** The commands in sentences and tables that no test runs, by the reason. */
const inlineNotRun: Record<string, string[]> = {
  'it needs CloudNativePG': [
    'kubectl -n $DATABASE get cluster,pods',
    'kubectl -n $DATABASE get backup,scheduledbackup',
    'DATABASE_HOST=db-rw.$DATABASE_NAMESPACE deploy/secrets'
  ],
  'it needs cert-manager': ['kubectl get certificate'],
  'it needs a Patroni of your own': ['patronictl list'],
  'it needs a registry of images': [
    'docker login',
    'docker compose build --build-arg NODE_IMAGE=node:24-bookworm-slim@sha256:…',
    'docker run -d --name grafana --network pet-categories_monitoring -p 127.0.0.1:3002:3000 -v grafana:/var/lib/grafana grafana/grafana:12.0.2'
  ],
  'it changes more of the host than the service': [
    'docker image prune',
    'docker builder prune',
    'crontab -l',
    'crontab -e',
    'systemctl restart chrony',
    'systemctl enable docker',
    'rm -rf .data'
  ],
  'it does not end': ['docker compose logs -f api'],
  'it is to be followed by another command': ['pg_restore --disable-triggers']
}

/** Calls as in `documented('Keys', 1)`, or `incident('errors')`. */
const callPattern =
  /\b(?<name>block|documented|incident|withCa)\(\s*'(?<heading>[^']+)'(?:,\s*(?<index>\d+))?/g

/** Returns the names of the blocks that a test runs. */
function runBy(file: string): string[] {
  const source = readFileSync(`tools/deploy-check/${file}`, 'utf8')
  return [...source.matchAll(callPattern)].map(({ groups = {} }) => {
    const { name, heading, index = '0' } = groups
    const title = name === 'incident' ? `Incident: ${heading}` : heading
    const own = `${pageOf[file]}: ${title} ${index}`
    // Incidents are those of Docker Compose, on Kubernetes too.
    return documented.has(own) ? own : `${operations}: ${title} ${index}`
  })
}

const run = new Set(Object.keys(pageOf).flatMap(runBy))
const known = new Set([...run, ...Object.keys(notRun)])

t.test('each documented command is run, or has a reason', (t) => {
  t.not(run.size, 0)
  t.same(
    [...documented.keys()].filter((name) => !known.has(name)),
    []
  )
  t.end()
})

t.test('what is run or has a reason is documented, and not both', (t) => {
  t.same(new Set(Object.values(pageOf)), new Set(pagesWithCommands))
  t.same(
    [...known].filter((name) => !documented.has(name)),
    []
  )
  t.same(
    Object.keys(notRun).filter((name) => run.has(name)),
    []
  )
  t.end()
})

const inBlocks = [...documented.values()]
  .map(({ commands }) => commands)
  .join('\n')

/** Calls as in `inline('kubectl get pods')`. */
const inlineCallPattern = /\binline(?:Command)?\(\s*(['"`])(?<command>.+?)\1/g

/** Steps as in `run_tool deploy-check compose`. */
const stepPattern = /^ *run_tool (?<tool>\S+) (?<command>\S+)$/gm

/** Returns the commands of sentences that a test runs. */
function inlineRunBy(file: string): string[] {
  const source = readFileSync(`tools/deploy-check/${file}`, 'utf8')
  const calls = [...source.matchAll(inlineCallPattern)]
  return calls.map(({ groups = {} }) => groups['command'] ?? '')
}

/** Returns the commands of tools that a step of the CI runs. */
function toolsRunBy(step: string): string[] {
  const source = readFileSync(`.ci/steps/${step}`, 'utf8')
  return [...source.matchAll(stepPattern)].map(
    ({ groups = {} }) =>
      `npm run ${groups['command']} --prefix tools/${groups['tool']}`
  )
}

const inline = new Set(
  pagesWithCommands.flatMap((page) => inlineCommands(page))
)
const inlineRun = new Set(Object.keys(pageOf).flatMap(inlineRunBy))
const toolsRun = readdirSync('.ci/steps').flatMap(toolsRunBy)
const inlineReasons = Object.values(inlineNotRun).flat()

t.test('each command in a sentence is run too, or has a reason', (t) => {
  const accounted = new Set([...inlineRun, ...toolsRun, ...inlineReasons])
  const others = [...inline].filter((command) => !accounted.has(command))
  t.not(inlineRun.size, 0)
  t.same(
    others.filter((command) => !inBlocks.includes(command)),
    []
  )
  t.end()
})

t.test('such a command is in a sentence, and not both', (t) => {
  t.same(
    [...inlineRun, ...inlineReasons].filter((command) => !inline.has(command)),
    []
  )
  t.same(
    inlineReasons.filter((command) => inlineRun.has(command)),
    []
  )
  t.end()
})

t.test('the README installs with the commands of the operations', (t) => {
  const linesOf = (name: string) =>
    documented.get(name)?.commands.trim().split('\n') ?? []
  const install = [0, 1].flatMap((index) =>
    linesOf(`${operations}: Install ${index}`)
  )
  const lines = linesOf('README.md: For operators 0')
  t.not(lines.length, 0)
  t.same(
    lines.filter((line) => !install.includes(line)),
    []
  )
  t.end()
})
