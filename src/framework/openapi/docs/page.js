// Changes Swagger UI by its plugin API, in place of its standalone preset.

// A phone needs it, and Swagger UI's page has none.
const viewport = document.createElement('meta')
Object.assign(viewport, { name: 'viewport', content: 'width=device-width' })
document.head.append(viewport)

// Swagger UI has a dark mode, which it would leave to a button.
const { matches: isDark } = matchMedia('(prefers-color-scheme: dark)')
document.documentElement.classList.toggle('dark-mode', isDark)

// Swagger UI adds an entry to the history for each operation that opens, and
// for each link two. Without them, Back leaves the page.
history.pushState = history.replaceState.bind(history)

/** Opens the operation of a link that is followed on the page. */
const links = () => ({
  afterLoad({ layoutActions }) {
    addEventListener('hashchange', () => {
      layoutActions.parseDeepLinkHash(location.hash)
      const id = `operations${location.hash.slice(1).replaceAll('/', '-')}`
      document.getElementById(id)?.scrollIntoView()
    })
  }
})

/** Makes servers, samples and links name this deployment, not production. */
const ownAddress = () => {
  const updateSpec = (original) => (json) => {
    // The path of every deployment, then the first server of openapi.yaml.
    const [{ url: path }, production] = JSON.parse(json).servers
    const here = new URL('..', location).href.slice(0, -1)
    const text = json.replace(`"url":"${path}"`, `"url":"${here}${path}"`)
    const there = production?.url.slice(0, -path.length)
    original(there ? text.replaceAll(there, here) : text)
  }

  return { statePlugins: { spec: { wrapActions: { updateSpec } } } }
}

/** Indents JSON, and keeps the ids, which JSON.parse() alone would round. */
function indent(json) {
  const keep = (_key, value, { source }) =>
    typeof value === 'number' ? JSON.rawJSON(source) : value
  try {
    return JSON.stringify(JSON.parse(json, keep), null, 2)
  } catch {
    // Invalid JSON, or an older browser.
    return json
  }
}

const components = ({ React: { createElement: h }, getSystem }) => {
  const change = (propsOf) => (Original) => (props) =>
    h(Original, { ...props, ...propsOf(props) })

  const codeSample = ({ lang, label = lang, source }) => {
    const HighlightCode = getSystem().getComponent('HighlightCode', true)
    const language = lang === 'Shell' ? 'bash' : undefined
    const code = h(HighlightCode, { language, canCopy: true }, source)
    const isOpen = lang === 'Shell'
    return h('details', { open: isOpen }, h('summary', null, label), code)
  }

  /** Shows the scope and the code samples of an operation first. */
  const parameters = (Original) => (props) => {
    const operation = props.operation.toJS()
    const scope = `Scope: ${operation['x-scopes'] ?? 'none'}`
    const samples = operation['x-codeSamples'] ?? []
    const first = { className: 'samples' }
    return [
      h('div', first, h('p', null, scope), ...samples.map(codeSample)),
      h(Original, props)
    ]
  }

  const wrapComponents = {
    parameters,
    // The link below the title, to the document as it is written.
    InfoUrl: change(() => ({ url: new URL('../openapi.yaml', location).href })),
    // As plain text, because Swagger UI would parse JSON.
    responseBody: change(({ contentType, content }) =>
      /json/.test(contentType)
        ? { contentType: 'text/plain', content: indent(content) }
        : {}
    )
  }

  return { wrapComponents }
}

window.SwaggerUIStandalonePreset = [links, ownAddress, components]
