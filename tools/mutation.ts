// Changes src/ in 60 places, one at a time, to see whether `npm test` fails.
// It runs in a worktree of its own, because it writes its changes to src/:
//
//   node --import tsx tools/mutation.ts [FIRST LAST]
//
// Each run ends at its first failure, or after 15 minutes; `0 0` only lists.
//
// A mutant is
// - a condition: that of if or ?:, or the left side of && or ||, negated
// - a bound: < and <= swapped, > and >=; a number that is one more, or twice as
//   much, if it ends in 0
// - an order: Math.min and Math.max swapped; sort() or ORDER BY descending
// - a removed line: a statement that is a call or an assignment
//
// but not in the buckets of metrics, calls of the log, and errors that only
// have a message. Of each folder, a hash with the seed picks one mutant in 18,
// but at least three.
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { argv } from 'node:process'
import ts from 'typescript'

const seed = 'pet-categories 1.0.0'
const oneOf = 18
const leastOfFolder = 3

interface Mutant {
  file: string
  /** Of the whole file. */
  text: string
}

const git = (...args: string[]) =>
  execFileSync('git', args, { encoding: 'utf8' })

const folderOf = ({ file }: Mutant) => path.dirname(file)

function conditionOf(node: ts.Node): ts.Node | undefined {
  if (ts.isIfStatement(node)) return node.expression
  if (ts.isConditionalExpression(node)) return node.condition
  const isLogical =
    ts.isBinaryExpression(node) &&
    /^(&&|\|\|)$/.test(node.operatorToken.getText())
  return isLogical ? node.left : undefined
}

/** Each is followed by what replaces it. */
const opposites = [
  ...[undefined, '<', '<=', '<', '>', '>=', '>'],
  ...['Math.min', 'Math.max', 'Math.min']
]

/** What replaces a node, if anything. */
function replacementOf(node: ts.Node): string | undefined {
  const text = node.getText()
  if (ts.isExpressionStatement(node)) return ';'
  if (ts.isNumericLiteral(node) && !ts.isArrayLiteralExpression(node.parent))
    return /.0$/.test(text) ? `(2 * ${text})` : `(1 + ${text})`
  if (ts.isToken(node) && /^[`}][^]*ORDER BY \w[^]*[`{]$/.test(text))
    return text.replace(/ORDER BY [\w.]+/, '$& DESC')
  // A sign in an expression is not a bracket of types.
  const isOperand = !ts.isToken(node) || ts.isBinaryExpression(node.parent)
  return isOperand ? opposites[opposites.indexOf(text) + 1] : undefined
}

/** Whether only people read what it makes. */
const isMessage = (node: ts.Node) =>
  /^(new Error|[\w.]*log\??\.\w+)\(/.test(node.getText()) &&
  (ts.isExpressionStatement(node) || ts.isCallLikeExpression(node))

/** Of a node, and of all nodes in it. */
function* mutantsOf(node: ts.Node): Generator<Mutant> {
  if (ts.isTypeNode(node) || isMessage(node)) return
  const { fileName: file, text } = node.getSourceFile()
  const condition = conditionOf(node)
  const changes = [
    [node, replacementOf(node)],
    [condition, `!(${condition?.getText()})`]
  ] as const
  for (const [part, replacement] of changes) {
    if (part === undefined || replacement === undefined) continue
    const before = text.slice(0, part.getStart())
    yield { file, text: before + replacement + text.slice(part.end) }
  }
  for (const child of node.getChildren()) yield* mutantsOf(child)
}

const files = git('ls-files', 'src/*.ts').trim().split('\n')

const mutants = files.flatMap((file) => {
  const text = readFileSync(file, 'utf8')
  const { Latest } = ts.ScriptTarget
  return [...mutantsOf(ts.createSourceFile(file, text, Latest, true))]
})

const chanceOf = ({ file, text }: Mutant) =>
  createHash('sha256')
    .update(seed + file + text)
    .digest('hex')

const sample = [...new Set(mutants.map(folderOf))].flatMap((folder) => {
  const ofFolder = mutants.filter((mutant) => folderOf(mutant) === folder)
  const share = Math.ceil(ofFolder.length / oneOf)
  return ofFolder
    .sort((a, b) => chanceOf(a).localeCompare(chanceOf(b)))
    .slice(0, Math.max(leastOfFolder, share))
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
