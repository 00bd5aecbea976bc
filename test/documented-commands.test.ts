// Each block of commands of these pages is run by a test, or is listed here
// with the reason why not.
import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  type CommandBlock,
  commandBlocks
} from './support/documented-commands.ts'

const operations = 'docs/operations.md'

/** The tests that run commands, and the page whose commands they are. */
const pageOf: Record<string, string> = {
  'compose-upgrade.test.ts': operations,
  'compose.test.ts': operations,
  'kubernetes.test.ts': 'docs/kubernetes.md',
  'readme.test.ts': 'README.md'
}
const pages = new Set(Object.values(pageOf))

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
  [...pages].flatMap((page) =>
    commandBlocks(page).map((block) => [nameOf(page, block), block])
  )
)

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
