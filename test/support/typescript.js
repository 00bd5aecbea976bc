// Loads TypeScript in the tests and in the processes that they start, in place
// of tap's loader: it compiles each file once and keeps the result in
// .tap/compiled, which halves the start of a process. (tsx joins lines, which
// breaks coverage.)
import {
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { register } from 'node:module'
import path from 'node:path'
import process from 'node:process'
import { fileURLToPath, URL } from 'node:url'
import { isMainThread } from 'node:worker_threads'

const root = path.resolve(import.meta.dirname, '../..')

// Node.js loads this file again in the thread of the hooks.
if (isMainThread) {
  register(import.meta.url)
  // Turns tap's loader off.
  process.env.TAP_TYPE_STRIP_ONLY = '1'
}

/** With TEST_API=notes, a process serves the notes of the tests. */
export function resolve(specifier, context, next) {
  const isApi = specifier.endsWith('/handlers/index.ts')
  return next(
    isApi && process.env.TEST_API === 'notes'
      ? new URL('notes/api.ts', import.meta.url).href
      : specifier,
    context
  )
}

export async function load(url, context, next) {
  const file = url.startsWith('file:') ? fileURLToPath(url) : ''
  if (!file.endsWith('.ts') || file.includes('node_modules'))
    return next(url, context)
  return { format: 'module', shortCircuit: true, source: await compiled(file) }
}

async function compiled(file) {
  const output = path.join(root, '.tap/compiled', `${file}.js`)
  const compiledAt = statSync(output, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (compiledAt > statSync(file).mtimeMs) return readFileSync(output)
  const { default: ts } = await import('typescript')
  const compilerOptions = {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
    verbatimModuleSyntax: true,
    inlineSourceMap: true,
    inlineSources: true
  }
  const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), {
    fileName: file,
    compilerOptions
  })
  // Renamed when complete: other processes compile at the same time.
  const incomplete = `${output}.${process.pid}`
  mkdirSync(path.dirname(output), { recursive: true })
  writeFileSync(incomplete, outputText)
  renameSync(incomplete, output)
  return outputText
}
