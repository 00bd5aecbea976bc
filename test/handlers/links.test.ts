import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { slug } from 'github-slugger'
import t from 'tap'

const filesIn = (folder: string) =>
  readdirSync(folder).map((name) => path.join(folder, name))

const tools = filesIn('tools').map((tool) => path.join(tool, 'README.md'))
const tests = 'test/README.md'
const pages = [...filesIn('.'), ...filesIn('docs'), ...tools, tests].filter(
  (file) => file.endsWith('.md') && existsSync(file)
)

/** The matches of a pattern outside of blocks of code. */
function matchesIn(page: string, pattern: RegExp): string[] {
  const prose = readFileSync(page, 'utf8').replace(/^```.*?^```$/gms, '')
  return [...prose.matchAll(pattern)].map(([, match]) => String(match))
}

/** Whether the target of a link exists: a file, a folder, or a heading. */
function exists(page: string, target: string): boolean {
  const [file = '', anchor] = target.split('#')
  const linked = file === '' ? page : path.join(path.dirname(page), file)
  if (!existsSync(linked)) return false
  if (anchor === undefined) return true
  const headings = matchesIn(linked, /^#+ (.+)$/gm)
  return headings.some((heading) => slug(heading) === anchor)
}

for (const page of pages) {
  t.test(`the links of ${page} have targets`, (t) => {
    const targets = matchesIn(page, /\]\((?![a-z]+:)([^)\s]+)\)/g)
    t.same(
      targets.filter((target) => !exists(page, target)),
      []
    )
    t.end()
  })
}

t.test(`the files that ${tests} names exist`, (t) => {
  const missing = matchesIn(tests, /`(\S+\/\S+\.ts)`/g).filter(
    (file) => !existsSync(file) && !existsSync(`test/${file}`)
  )
  t.same(missing, [])
  t.end()
})
