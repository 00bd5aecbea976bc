// Changes src/ in 60 places, one at a time, to see whether `npm test` fails.
// It runs in a separate worktree, because it writes its changes to src/:
//
//   node --import tsx tools/mutation.ts [FIRST LAST]
//
// Each run ends at its first failure, or after 15 minutes; `0 0` only lists.
//
// A mutant is
// - a condition: that of if or ?:, or the left side of && or ||, negated
// - a bound: < and <= swapped, > and >=; a number that is one more, or twice as
//   much, if it ends in 0
// - an order: Math.min and Math.max swapped; ORDER BY descending
// - a removed line: a statement that is a call or an assignment
//
// but not in the buckets of metrics, calls of the log, and errors that only
// have a message. Of each folder, a hash with the seed picks one mutant in 18,
// but at least three.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { argv } from 'node:process'
import ts from 'typescript'

const seed = 'pet-categories 1.0.0'
const oneOf = 18
const leastOfFolder = 3

const git = (...args: string[]) =>
  execFileSync('git', args, { encoding: 'utf8' })

/** Each is followed by what replaces it. */
const opposites = [
  ...[undefined, '<', '<=', '<', '>', '>=', '>'],
  ...['Math.min', 'Math.max', 'Math.min']
]

const order = /ORDER BY [\w.]+/

function isCondition(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isIfStatement(parent)) return parent.expression === node
  if (ts.isConditionalExpression(parent)) return parent.condition === node
  return (
    ts.isBinaryExpression(parent) &&
    parent.left === node &&
    /^(&&|\|\|)$/.test(parent.operatorToken.getText())
  )
}

/** What replaces a node, if anything. */
function replacementOf(node: ts.Node): string | undefined {
  const text = node.getText()
  if (isCondition(node)) return `!(${text})`
  if (ts.isExpressionStatement(node)) return ';'
  if (ts.isNumericLiteral(node) && !ts.isArrayLiteralExpression(node.parent))
    return `(${/.0$/.test(text) ? '2 *' : '1 +'} ${text})`
  if (ts.isToken(node) && order.test(text))
    return text.replace(order, '$& DESC')
  // A sign in an expression is not a bracket of types.
  const isOperand = !ts.isToken(node) || ts.isBinaryExpression(node.parent)
  return isOperand ? opposites[opposites.indexOf(text) + 1] : undefined
}

/** Whether only people read what it makes. */
const isMessage = (node: ts.Node) =>
  /^(new Error|[\w.]*log\??\.\w+)\(/.test(node.getText()) &&
  (ts.isExpressionStatement(node) || ts.isCallLikeExpression(node))

/** The file with each mutation of the node, or of a node in it. */
function* mutantsOf(node: ts.Node): Generator<string> {
  if (ts.isTypeNode(node) || isMessage(node)) return
  const { text } = node.getSourceFile()
  const before = text.slice(0, node.getStart())
  const replacement = replacementOf(node)
  if (replacement !== undefined)
    yield before + replacement + text.slice(node.end)
  for (const child of node.getChildren()) yield* mutantsOf(child)
}

function mutantsIn(file: string) {
  const text = readFileSync(file, 'utf8')
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  return tree
    .getChildren()
    .flatMap((node) => [...mutantsOf(node)])
    .map((mutant) => ({ file, text: mutant }))
}

const chanceOf = ({ file, text }: { file: string; text: string }) =>
  createHash('sha256')
    .update(seed + file + text)
    .digest('hex')

const files = git('ls-files', 'src/*.ts').trim().split('\n')

const sample = [...new Set(files.map(dirname))].flatMap((folder) => {
  const mutants = files
    .filter((file) => dirname(file) === folder)
    .flatMap(mutantsIn)
    .sort((a, b) => chanceOf(a).localeCompare(chanceOf(b)))
  const share = Math.ceil(mutants.length / oneOf)
  return mutants.slice(0, Math.max(leastOfFolder, share))
})

const test = 'timeout 900 npm test -- --disable-coverage --bail >/dev/null'
const [first = 1, last = sample.length] = argv.slice(2).map(Number)

for (const [index, { file, text }] of sample.entries()) {
  writeFileSync(file, text)
  console.log(`${index + 1}.`, git('diff', '-U0', file))
  if (index + 1 >= first && index < last) {
    // It writes the files that fail.
    const { status } = spawnSync(test, { shell: true, stdio: 'inherit' })
    console.log(status === 0 ? 'SURVIVED' : 'killed')
  }
  git('checkout', '--quiet', file)
}
