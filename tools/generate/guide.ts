// generated/guide.html: the guide for API clients, which the service serves.
import path from 'node:path'
import GithubSlugger, { slug } from 'github-slugger'
import { marked, Renderer, type Tokens } from 'marked'

/** The page of which the guide is made. */
export const guideSource = 'docs/clients.md'

/** Served beside the guide, at the same relative path. */
const servedFile = '../openapi.yaml'

/** A file or folder that a deployment does not serve. */
const toolFile = /^\.\.\/(tools\/.+)$/

interface Heading {
  /** 1 to 6. */
  depth: number
  id: string
  html: string
}

/**
 * The guide as a page: a `nav`, its contents, and a `main`, its text.
 * The text of each file that it links to follows at its end. A link to a folder
 * becomes plain text.
 *
 * @param markdown the text of `guideSource`
 * @param readFile the text of a file, by its path in this repository
 * @throws Error for HTML in the Markdown, and for a link to what a deployment
 *   does not serve
 */
export function guidePage(
  title: string,
  markdown: string,
  readFile: (name: string) => string
): string {
  const renderer = new GuideRenderer()
  const render = (text: string) =>
    marked.parse(text, { renderer, async: false })
  const guide = render(markdown)
  const files = render(filesSection(renderer.files, readFile))

  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Guide · ${title}</title>
<link rel="stylesheet" href="guide.css">
<link rel="icon" type="image/png" href="static/favicon-32x32.png">
</head>
<body>
<header>
<p>${title}</p>
<p><a href="../docs">Operations</a> <a href="../openapi.yaml">openapi.yaml</a></p>
</header>
<nav aria-label="Contents">
${contentsList(renderer.headings)}</nav>
<main>
${guide}${files}</main>
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

/** The text of these files, as Markdown; empty without a file. */
function filesSection(
  names: Set<string>,
  readFile: (name: string) => string
): string {
  const files = [...names].map((name) => {
    const language = path.extname(name).slice(1)
    const fence = `\`\`\`\`${language}\n${readFile(name)}\`\`\`\`\n`
    return `\n### ${path.basename(name)}\n\n${fence}`
  })

  return files.length === 0 ? '' : `## Files\n${files.join('')}`
}

/** Renders headings with anchors, and tables that scroll by themselves. */
class GuideRenderer extends Renderer {
  readonly headings: Heading[] = []
  /** The files that the text links to and a deployment does not serve. */
  readonly files = new Set<string>()
  /** Makes the same anchors as GitHub and GitLab. */
  readonly #slugger = new GithubSlugger()

  override heading({ tokens, depth, text }: Tokens.Heading): string {
    const html = this.parser.parseInline(tokens)
    const id = this.#slugger.slug(text)
    this.headings.push({ depth, id, html })
    return `<h${depth} id="${id}"><a href="#${id}">${html}</a></h${depth}>\n`
  }

  override link(token: Tokens.Link): string {
    const href = this.#targetOf(token.href)
    if (href === undefined) return this.parser.parseInline(token.tokens)
    return super.link({ ...token, href })
  }

  /** The keyboard can scroll an element only if it can have the focus. */
  override table(token: Tokens.Table): string {
    const section = this.headings.at(-1)?.id
    const attributes = `role="group" tabindex="0" aria-labelledby="${section}"`
    return `<div class="table" ${attributes}>\n${super.table(token)}</div>\n`
  }

  override html({ text }: Tokens.HTML | Tokens.Tag): string {
    if (/^<!--[^]*-->\s*$/.test(text)) return ''
    throw new Error(`${guideSource} has HTML, write Markdown: ${text.trim()}`)
  }

  /**
   * The href of a link in the HTML; undefined for a folder.
   *
   * @throws Error for a link to what a deployment does not serve
   */
  #targetOf(href: string): string | undefined {
    if (/^(#|https:)/.test(href) || href === servedFile) return href

    const [, name] = toolFile.exec(href) ?? []
    if (name === undefined) {
      throw new Error(
        `${guideSource} links to ${href}, which a deployment does not serve`
      )
    }
    if (path.extname(name) === '') return undefined

    this.files.add(name)

    return `#${slug(path.basename(name))}`
  }
}
