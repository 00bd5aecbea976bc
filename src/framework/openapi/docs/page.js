// Changes Swagger UI by its plugin API.

// A phone needs it, and Swagger UI's page has none.
const viewport = document.createElement('meta')
viewport.name = 'viewport'
viewport.content = 'width=device-width'
document.head.append(viewport)

// Swagger UI has a dark mode, which it would leave to a button.
const darkScheme = matchMedia('(prefers-color-scheme: dark)')
const followScheme = () =>
  document.documentElement.classList.toggle('dark-mode', darkScheme.matches)
darkScheme.addEventListener('change', followScheme)
followScheme()

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
    const [own, production = own] = JSON.parse(json).servers
    const here = new URL(`..${own.url}`, location).href
    const servers = [{ ...own, url: here }]
    const [from, to] = [production.url, here].map((url) =>
      url.slice(0, -own.url.length)
    )
    const text = JSON.stringify({ ...JSON.parse(json), servers })
    original(from === '' ? text : text.replaceAll(from, to))
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

const components = ({ React: { createElement: h, Fragment }, getSystem }) => {
  /** As plain text, because Swagger UI would parse JSON. */
  const responseBody = (Original) => (props) => {
    const change = /json/.test(props.contentType) && {
      contentType: 'text/plain',
      content: indent(props.content)
    }
    return h(Original, { ...props, ...change })
  }

  const codeSample = ({ lang, label = lang, source }) => {
    const HighlightCode = getSystem().getComponent('HighlightCode', true)
    const language = lang === 'Shell' ? 'bash' : undefined
    return h(
      'details',
      { key: lang, open: lang === 'Shell' },
      h('summary', null, label),
      h(HighlightCode, { language, canCopy: true }, source)
    )
  }

  /** The scope and the code samples of an operation. */
  const parameters = (Original) => (props) => {
    const { 'x-scopes': scopes = [], 'x-codeSamples': samples = [] } =
      props.operation.toJS()
    return h(
      Fragment,
      null,
      h(
        'div',
        { className: 'samples' },
        h('p', null, 'Scope: ', h('code', null, scopes.join(' '))),
        samples.map(codeSample)
      ),
      h(Original, props)
    )
  }

  /** The link below the title, to the OpenAPI document as it is written. */
  const InfoUrl = (Original) => (props) =>
    h(Original, { ...props, url: new URL('../openapi.yaml', location).href })

  return { wrapComponents: { InfoUrl, parameters, responseBody } }
}

// Replaces Swagger UI's standalone preset, whose layout the page does not use.
window.SwaggerUIStandalonePreset = [links, ownAddress, components]
