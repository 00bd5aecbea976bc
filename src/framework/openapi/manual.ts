// The manual beside the docs page: the guide for API clients, the changelog.
import { readFileSync } from 'node:fs'
import GithubSlugger, { slug } from 'github-slugger'
import { marked, Renderer, type Tokens } from 'marked'

/** The page of which the guide is made. */
export const guideSource = 'docs/clients.md'

/** A text of the manual, such as `guide.html`. */
export interface ManualFile {
  name: string
  text: string
}

/**
 * Renders the manual: the guide, also as Markdown, and the changelog.
 *
 * @param root the folder of docs/clients.md and CHANGELOG.md
 * @param api the title of the API
 * @throws Error like `pageHtml`, or if a file is missing
 */
export function manualFiles(root: URL, api: string): ManualFile[] {
  const read = (name: string) => readFileSync(new URL(name, root), 'utf8')
  const guide = pageMarkdown(read(guideSource), read)
  const changelog = pageMarkdown(read('CHANGELOG.md'), read)

  return [
    { name: 'changelog.html', text: pageHtml(`Changelog · ${api}`, changelog) },
    { name: 'guide.html', text: pageHtml(`Guide · ${api}`, guide) },
    { name: 'guide.md', text: guide }
  ]
}

/** A link to a file that a deployment does not serve. */
const toolLink = /\]\(\.\.\/(tools\/[^)]+)\)/g

interface Heading {
  /** 1 to 6. */
  depth: number
  id: string
  html: string
}

/** What a deployment serves, relative to a page. */
const served = /^(#|https:|\.\.\/openapi\.yaml$|guide\b)/

/**
 * The Markdown of a page, without comments. The text of each file of tools/
 * that it links to follows at its end.
 *
 * @param readFile the text of a file, by its path in this repository
 */
export function pageMarkdown(
  source: string,
  readFile: (name: string) => string
): string {
  const files = new Map<string, string>()
  const text = source
    .replace(/<!--[^]*?-->\n*/g, '')
    .replaceAll(`](${guideSource}`, '](guide')
    .replace(toolLink, (_, name: string) => {
      // Two programs may have one name.
      const title = name.split('/').slice(-2).join('/')
      files.set(title, readFile(name))
      return `](#${slug(title)})`
    })
  const sections = Array.from(files, ([title, content]) => {
    const language = title.split('.').at(-1)
    return `\n### ${title}\n\n\`\`\`\`${language}\n${content}\`\`\`\`\n`
  })

  return files.size === 0 ? text : `${text}\n## Files\n${sections.join('')}`
}

/**
 * A page: a `nav`, its contents, and a `main`, its text.
 *
 * @throws Error for HTML in the Markdown, and for a link to what a deployment
 *   does not serve
 */
export function pageHtml(title: string, markdown: string): string {
  const renderer = new PageRenderer()
  const text = marked.parse(markdown, { renderer, async: false })

  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="guide.css">
<link rel="icon" type="image/png" href="static/favicon-32x32.png">
<script src="guide.js" defer></script>
</head>
<body>
<header>
<p>${title}</p>
<p><a href="../docs">Operations</a> <a href="guide">Guide</a>
<a href="guide.md">as Markdown</a> <a href="changelog">Changelog</a>
<a href="../openapi.yaml">openapi.yaml</a></p>
</header>
<nav aria-label="Contents">
${contentsList(renderer.headings)}</nav>
<main>
${text}</main>
</body>
</html>
`
}

/** A list of the sections. */
function contentsList(headings: Heading[]): string {
  const sections = headings.filter(({ depth }) => depth === 2)
  const items = sections.map(
    ({ id, html }) => `<li><a href="#${id}">${html}</a></li>\n`
  )

  return `<ol>\n${items.join('')}</ol>\n`
}

/** Renders headings with anchors, and tables that scroll by themselves. */
class PageRenderer extends Renderer {
  readonly headings: Heading[] = []
  /** Makes the same anchors as GitHub and GitLab. */
  readonly #slugger = new GithubSlugger()

  override heading({ tokens, depth, text }: Tokens.Heading): string {
    const html = this.parser.parseInline(tokens)
    const id = this.#slugger.slug(text)
    this.headings.push({ depth, id, html })
    return `<h${depth} id="${id}"><a href="#${id}">${html}</a></h${depth}>\n`
  }

  override link(token: Tokens.Link): string {
    if (served.test(token.href)) return super.link(token)
    throw new Error(`a deployment does not serve ${token.href}`)
  }

  /** The keyboard can scroll an element only if it can have the focus. */
  override table(token: Tokens.Table): string {
    const section = this.headings.at(-1)?.id
    const attributes = `role="group" tabindex="0" aria-labelledby="${section}"`
    return `<div class="table" ${attributes}>\n${super.table(token)}</div>\n`
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    throw new Error(`write Markdown in place of HTML: ${text.trim()}`)
  }
}
