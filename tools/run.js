// Runs a program of src/, dist/ or tools/: node tools/run.js src/main.ts [...]
//
// It is JavaScript, and imports nothing but Node.js at first, so that a wrong
// version of Node.js and a forgotten `npm ci` are reported in one line.
import { existsSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { URL } from 'node:url'

const root = new URL('..', import.meta.url)
const { engines, name } = JSON.parse(
  readFileSync(new URL('package.json', root), 'utf8')
)

// The program sees its own path and arguments. pnpm passes on the `--` before
// them.
process.argv.splice(1, 1)
const [, program, separator] = process.argv
if (separator === '--') process.argv.splice(2, 1)

requireNode()
if (!existsSync(new URL(program, root)))
  exit(`${program} is missing: run \`npm run build\``)
if (program.endsWith('.ts')) await loadTypeScript()

await import(new URL(program, root)).catch(explainMissingPackage)

/** Ends the process if this Node.js is older than package.json demands. */
function requireNode() {
  const { node } = process.versions
  const needed = engines.node.replace('>=', '')
  const isOld = node.localeCompare(needed, 'en', { numeric: true }) < 0
  if (isOld) exit(`Node.js ${needed} or later is needed, not ${node}`)
}

/** Lets this process import TypeScript: by tsx, or by Node.js itself. */
async function loadTypeScript() {
  try {
    const { register } = await import('tsx/esm/api')
    register()
  } catch (error) {
    // Without development dependencies, Node.js 22.18 or later suffices.
    if (!process.features.typescript) explainMissingPackage(error)
  }
}

function explainMissingPackage(error) {
  if (error.code === 'ERR_MODULE_NOT_FOUND' && /package/.test(error.message)) {
    exit(
      'packages are missing: run `npm ci`; ' +
        'before Node.js 22.18, without --omit=dev'
    )
  }
  throw error
}

function exit(message) {
  process.stderr.write(`${name}: ${message}\n`)
  process.exit(1)
}
