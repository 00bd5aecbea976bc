// Runs before Swagger UI renders, and changes it by its plugin API.
{
  // The page lacks a viewport.
  document.head.insertAdjacentHTML(
    'beforeend',
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
  )

  /** The title of the page and the switch of its mode. */
  const topbar =
    ({ createElement: h }) =>
    ({ getComponent }) => {
      const toggle = h(getComponent('DarkModeToggle'))
      const attributes = { className: 'topbar', role: 'banner' }
      return h('header', attributes, document.title, toggle)
    }

  /** Links to the OpenAPI document, instead of one to /docs/json. */
  const documentLinks =
    ({ createElement: h }) =>
    () =>
      ['/openapi.yaml', '/openapi.json'].map((href) =>
        h('a', { key: href, href, className: 'link' }, href, ' ')
      )

  /** The guide of this deployment, in place of that of production. */
  const externalDocs = (original) => (state) =>
    original(state).update('url', (url) =>
      url?.replace(/^https:\/\/[^/]+(?=\/docs\/guide$)/, '')
    )

  /**
   * The filter of operations, in place of the list of servers: the
   * Content-Security-Policy of the page blocks requests to other servers.
   */
  const filterInput =
    ({ createElement: h }) =>
    ({ layoutActions }) => {
      const label = 'Filter operations'
      const input = h('input', {
        type: 'search',
        placeholder: label,
        'aria-label': label,
        onChange: ({ target }) => layoutActions.updateFilter(target.value)
      })
      return h('search', null, h('h2', null, 'Operations'), input)
    }

  /** The text of an operation that the filter searches, in lower case. */
  const textOf = (item, tag) => {
    const operation = item.get('operation')
    const texts = [
      tag,
      item.get('method'),
      item.get('path'),
      operation.get('operationId'),
      operation.get('summary'),
      operation.get('description'),
      operation.get('x-scopes')?.join(' ')
    ]
    return texts.join(' ').toLowerCase()
  }

  /** Keeps the operations whose text has every word of the filter. */
  const opsFilter = (tags, filter) => {
    const words = filter.toLowerCase().split(/\s+/)
    const matches = (item, tag) => {
      const text = textOf(item, tag)
      return words.every((word) => text.includes(word))
    }
    return tags
      .map((content, tag) =>
        content.update('operations', (all) =>
          all.filter((item) => matches(item, tag))
        )
      )
      .filter((content) => content.get('operations').size > 0)
  }

  const operations =
    ({ createElement: h }) =>
    (Original) =>
    (props) =>
      props.specSelectors.taggedOperations().size > 0
        ? h(Original, props)
        : h('h3', null, 'No operation matches.')

  /** A native modal dialog keeps the focus inside, and returns it at its end. */
  const authorizationPopup =
    ({ createElement: h, useLayoutEffect, useRef }) =>
    (Original) =>
    (props) => {
      const ref = useRef()
      useLayoutEffect(() => {
        const dialog = ref.current
        dialog.showModal()
        dialog.querySelector('input')?.focus()
        return () => dialog.close()
      }, [])

      const onClose = () => props.authActions.showDefinitions(false)
      const attributes = { ref, onClose, 'aria-label': 'Authorization' }
      return h('dialog', attributes, h(Original, props))
    }

  /**
   * Labels for assistive technology. Swagger UI labels some buttons and inputs
   * with other words than it shows.
   */
  const labels = ({ createElement: h }) => {
    const withProps = (changes) => (Original) => (props) =>
      h(Original, { ...props, ...changes })
    const within = (element, label) => (Original) => (props) =>
      h(element, { 'aria-label': label }, h(Original, props))
    return {
      InfoContainer: within('section', 'About'),
      AuthorizeBtnContainer: within('section', 'Authorization'),
      ExamplesSelect: within('label', 'Examples'),
      TextArea: withProps({ 'aria-label': 'Request body' }),
      CloseIcon: withProps({
        role: 'img',
        'aria-hidden': false,
        'aria-label': 'Close'
      }),
      ModelCollapse: (Original) => (props) =>
        h(Original, { ...props, title: props.title ?? 'Schema' }),
      Button: withProps({ 'aria-label': undefined }),
      Input: withProps({ 'aria-label': undefined })
    }
  }

  const copyButton =
    ({ createElement: h }) =>
    (Original) =>
    (props) =>
      h(Original, { ...props, canCopy: true })

  // The standalone preset is an array of plugins. `uiConfig.plugins` would
  // replace the plugins of @fastify/swagger-ui.
  SwaggerUIStandalonePreset.push(({ React }) => ({
    components: {
      Topbar: topbar(React),
      InfoUrl: documentLinks(React),
      ServersContainer: filterInput(React),
      FilterContainer: () => null
    },
    fn: { opsFilter },
    statePlugins: { spec: { wrapSelectors: { externalDocs } } },
    wrapComponents: {
      ...labels(React),
      HighlightCode: copyButton(React),
      operations: operations(React),
      authorizationPopup: authorizationPopup(React)
    }
  }))
}
