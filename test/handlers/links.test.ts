import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { slug } from 'github-slugger'
import t from 'tap'

const filesIn = (folder: string) =>
  readdirSync(folder).map((name) => path.join(folder, name))

const tools = filesIn('tools').map((tool) => path.join(tool, 'README.md'))
const tests = 'test/README.md'
const pages = [...filesIn('.'), ...filesIn('docs'), ...tools, tests]
  .filter((file) => file.endsWith('.md'))
  .filter((file) => existsSync(file))

/** The page without its blocks of code, whose comments look like headings. */
const proseOf = (page: string) =>
  readFileSync(page, 'utf8').replace(/^```.*?^```$/gms, '')

/** The anchors of a page, as GitHub makes them. */
function anchorsOf(page: string): string[] {
  const headings = proseOf(page).matchAll(/^#+ (.+)$/gm)
  return [...headings].map(([, heading = '']) => slug(heading))
}

/** The targets of links within the repository. */
function linksOf(page: string): string[] {
  const links = proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)
  return [...links]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
}

/** Whether the target of a link exists: a file, a folder, or a heading. */
function exists(page: string, target: string): boolean {
  const [file = '', anchor] = target.split('#')
  const linked = file === '' ? page : path.join(path.dirname(page), file)
  if (!existsSync(linked)) return false
  return anchor === undefined || anchorsOf(linked).includes(anchor)
}

for (const page of pages) {
  t.test(`the links of ${page} have targets`, (t) => {
    const broken = linksOf(page).filter((target) => !exists(page, target))
    t.same(broken, [])
    t.end()
  })
}

t.test(`the files that ${tests} names exist`, (t) => {
  const named = readFileSync(tests, 'utf8').matchAll(/`(\S+\/\S+\.ts)`/g)
  const missing = [...named]
    .map(([, file = '']) => file)
    .filter((file) => !existsSync(file) && !existsSync(`test/${file}`))
  t.same(missing, [])
  t.end()
})
