// Changes Swagger UI by its plugin API. SwaggerUIStandalonePreset is an array
// of plugins; `uiConfig.plugins` would replace those of @fastify/swagger-ui.
document.head.insertAdjacentHTML(
  'beforeend',
  '<meta name="viewport" content="width=device-width" />'
)

SwaggerUIStandalonePreset.push(({ React, getSystem }) => {
  const { createElement: h, Fragment, useLayoutEffect, useRef } = React

  /** Indents JSON, but JSON.parse() alone rounds integers above 2^53: ids. */
  const indent = (json) => {
    const keep = (_key, value, { source }) =>
      typeof value === 'number' ? JSON.rawJSON(source) : value
    try {
      return JSON.stringify(JSON.parse(json, keep), null, 2)
    } catch {
      // Invalid JSON, or an older browser.
      return json
    }
  }

  const responseBody =
    (Original, { getComponent }) =>
    (props) => {
      if (!/json/.test(props.contentType)) return h(Original, props)
      const HighlightCode = getComponent('HighlightCode', true)
      return h(HighlightCode, { language: 'json' }, indent(props.content))
    }

  const filter = ({ layoutActions, layoutSelectors }) => {
    const label = 'Filter operations'
    const input = h('input', {
      placeholder: label,
      'aria-label': label,
      value: layoutSelectors.currentFilter() || '',
      onChange: ({ target }) => layoutActions.updateFilter(target.value)
    })
    return h('search', null, h('h2', null, 'Operations'), input)
  }

  /** Each table of responses is a region without a name. */
  const responses = (Original) => (props) => {
    const ref = (node) => {
      for (const table of node?.querySelectorAll('[role=region]') ?? [])
        table.removeAttribute('role')
    }
    return h('div', { ref }, h(Original, props))
  }

  const within = (element, label) => (Original) => (props) =>
    h(element, { 'aria-label': label }, h(Original, props))

  const withProps = (change) => (Original) => (props) =>
    h(Original, { ...props, ...change(props) })

  /** The words that are shown are the better label. */
  const withoutLabel = withProps(() => ({ 'aria-label': undefined }))

  /** A modal dialog keeps the focus inside, and returns it at its end. */
  const authorizationPopup = (Original) => (props) => {
    const ref = useRef()
    useLayoutEffect(() => {
      const dialog = ref.current
      dialog.showModal()
      return () => dialog.close()
    }, [])
    const onClose = () => props.authActions.showDefinitions(false)
    const attributes = { ref, onClose, 'aria-label': 'Authorization' }
    return h('dialog', attributes, h(Original, props))
  }

  /** Samples and the link to the guide name production: here, this host. */
  const updateSpec =
    (original, { getConfigs }) =>
    (text) =>
      original(text.replaceAll(getConfigs().production, location.origin))

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

  /** Shows the code samples of an operation before its parameters. */
  const parameters = (Original) => (props) => {
    const samples = props.operation.get('x-codeSamples')?.toJS() ?? []
    return h(Fragment, null, samples.map(codeSample), h(Original, props))
  }

  /** Keeps the operations whose text has every word of the filter. */
  const opsFilter = (tags, filter) => {
    const words = filter.toLowerCase().split(/\s+/)
    const matches = (operation) => {
      const text = JSON.stringify(operation).toLowerCase()
      return words.every((word) => text.includes(word))
    }
    return tags
      .map((tag) => tag.update('operations', (all) => all.filter(matches)))
      .filter((tag) => tag.get('operations').size > 0)
  }

  /** Opens the operation that a link leads to, in this tab. */
  const followLinks = ({ layoutActions }) => {
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

  return {
    components: {
      FilterContainer: filter,
      // The policy of the page blocks requests to other servers.
      ServersContainer: () => null,
      Topbar: () =>
        h('header', { className: 'topbar', role: 'banner' }, document.title)
    },
    fn: { opsFilter },
    statePlugins: { spec: { wrapActions: { updateSpec } } },
    wrapComponents: {
      AuthorizeBtnContainer: within('section', 'Authorization'),
      authorizationPopup,
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
      OperationExt: withProps(({ extensions }) => ({
        extensions: extensions.delete('x-codeSamples')
      })),
      // A link inside of the button that opens the operation.
      OperationSummaryPath: withProps(({ operationProps }) => ({
        operationProps: operationProps.set('isDeepLinkingEnabled', false)
      })),
      parameters,
      responseBody,
      responses,
      TextArea: withProps(() => ({ 'aria-label': 'Request body' }))
    },
    afterLoad: followLinks
  }
})
