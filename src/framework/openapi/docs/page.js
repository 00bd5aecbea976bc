// Changes Swagger UI by its plugin API. SwaggerUIStandalonePreset is an array
// of plugins; `uiConfig.plugins` would replace those of @fastify/swagger-ui.
document.head.insertAdjacentHTML(
  'beforeend',
  '<meta name="viewport" content="width=device-width" />'
)

/** Indents JSON, but JSON.parse() alone rounds integers above 2^53: ids. */
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

const exactBodies = ({ React }) => ({
  wrapComponents: {
    responseBody:
      (Original, { getComponent }) =>
      (props) => {
        if (!/json/.test(props.contentType))
          return React.createElement(Original, props)
        return React.createElement(
          getComponent('HighlightCode', true),
          { language: 'json' },
          indent(props.content)
        )
      }
  }
})

/** The code samples of an operation before its parameters, for this host. */
const samples = ({ React: { createElement: h, Fragment }, getSystem }) => {
  const codeSample = ({ lang, label = lang, source }) => {
    const HighlightCode = getSystem().getComponent('HighlightCode', true)
    const language = lang === 'Shell' ? 'bash' : undefined
    return h(
      'details',
      { key: lang },
      h('summary', null, label),
      h(HighlightCode, { language, canCopy: true }, source)
    )
  }

  const parameters = (Original) => (props) => {
    const codeSamples = props.operation.get('x-codeSamples')?.toJS() ?? []
    return h(Fragment, null, codeSamples.map(codeSample), h(Original, props))
  }

  /** Samples and the link to the guide name production. */
  const updateSpec =
    (original, { getConfigs }) =>
    (text) =>
      original(text.replaceAll(getConfigs().production, location.origin))

  return {
    statePlugins: { spec: { wrapActions: { updateSpec } } },
    wrapComponents: { parameters }
  }
}

/** A modal dialog keeps the focus inside, and returns it at its end. */
const authorizationDialog = ({ React }) => ({
  wrapComponents: {
    authorizationPopup: (Original) => (props) => {
      const ref = React.useRef()
      React.useLayoutEffect(() => {
        const dialog = ref.current
        dialog.showModal()
        return () => dialog.close()
      }, [])
      const onClose = () => props.authActions.showDefinitions(false)
      const attributes = { ref, onClose, 'aria-label': 'Authorization' }
      return React.createElement(
        'dialog',
        attributes,
        React.createElement(Original, props)
      )
    }
  }
})

/** Opens the operation that a link leads to, in this tab. */
const links = () => ({
  afterLoad({ layoutActions }) {
    addEventListener('click', (event) => {
      const link = event.target.closest('a[href^="#/"]')
      if (link === null) return
      event.preventDefault()
      location.hash = link.hash
    })
    addEventListener('hashchange', () => {
      layoutActions.parseDeepLinkHash(location.hash)
      const id = `operations${location.hash.slice(1).replaceAll('/', '-')}`
      document.getElementById(id)?.scrollIntoView()
    })
  }
})

/** Landmarks and labels that Swagger UI lacks. */
const accessibility = ({ React: { createElement: h } }) => {
  const within = (element, label) => (Original) => (props) =>
    h(element, { 'aria-label': label }, h(Original, props))
  const withProps = (change) => (Original) => (props) =>
    h(Original, { ...props, ...change(props) })
  /** The words that are shown are the better label. */
  const withoutLabel = withProps(() => ({ 'aria-label': undefined }))

  /** Each table of responses is a region without a name. */
  const responses = (Original) => (props) => {
    const ref = (node) => {
      for (const table of node?.querySelectorAll('[role=region]') ?? [])
        table.removeAttribute('role')
    }
    return h('div', { ref }, h(Original, props))
  }

  const wrapComponents = {
    AuthorizeBtnContainer: within('section', 'Authorization'),
    Button: withoutLabel,
    CloseIcon: withProps(() => ({
      role: 'img',
      'aria-hidden': false,
      'aria-label': 'Close'
    })),
    ExamplesSelect: within('label', 'Examples'),
    InfoContainer: within('section', 'About'),
    Input: withoutLabel,
    ModelCollapse: withProps(({ title = 'Schema' }) => ({ title })),
    // A link inside of the button that opens the operation.
    OperationSummaryPath: withProps(({ operationProps }) => ({
      operationProps: operationProps.set('isDeepLinkingEnabled', false)
    })),
    responses,
    TextArea: withProps(() => ({ 'aria-label': 'Request body' }))
  }

  return { wrapComponents }
}

/** What the page shows in another place, or not at all. */
const layout = ({ React: { createElement: h } }) => ({
  components: {
    FilterContainer: () =>
      h('section', { 'aria-label': 'Operations' }, h('h2', null, 'Operations')),
    // The policy of the page blocks requests to other servers.
    ServersContainer: () => null,
    Topbar: () =>
      h('header', { className: 'topbar', role: 'banner' }, document.title)
  },
  wrapComponents: {
    OperationExt: (Original) => (props) => {
      const extensions = props.extensions.delete('x-codeSamples')
      return h(Original, { ...props, extensions })
    }
  }
})

SwaggerUIStandalonePreset.push(
  exactBodies,
  samples,
  authorizationDialog,
  links,
  accessibility,
  layout
)
