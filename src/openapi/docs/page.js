// Runs before Swagger UI renders, and changes it by its plugin API. The page lacks a viewport.
document.head.insertAdjacentHTML(
  'beforeend',
  '<meta name="viewport" content="width=device-width, initial-scale=1">'
)

// The standalone preset is an array of plugins. `uiConfig.plugins` would replace the plugins of @fastify/swagger-ui.
SwaggerUIStandalonePreset.push(({ React }) => {
  const h = React.createElement
  const withProps = (changes) => (Original) => (props) =>
    h(Original, { ...props, ...changes })
  const within = (element, attributes) => (Original) => (props) =>
    h(element, attributes, h(Original, props))
  return {
    components: {
      Topbar: ({ getComponent }) =>
        h(
          'header',
          { className: 'topbar', role: 'banner' },
          document.title,
          h(getComponent('DarkModeToggle'))
        ),
      // Links to the OpenAPI document instead of /docs/json.
      InfoUrl: () =>
        ['/openapi.yaml', '/openapi.json'].map((href) =>
          h('a', { key: href, href, className: 'link' }, href, ' ')
        ),
      // The Content-Security-Policy of the page blocks requests to other servers. The filter takes the place of their list.
      ServersContainer: ({ layoutActions }) => {
        const label = 'Filter operations'
        const onChange = ({ target }) =>
          layoutActions.updateFilter(target.value)
        const input = h('input', {
          type: 'search',
          placeholder: label,
          'aria-label': label,
          onChange
        })
        return h('search', null, h('h2', null, 'Operations'), input)
      },
      FilterContainer: () => null
    },
    fn: {
      // Keeps the operations with every word of the filter in their tag, method, path, id, summary or description.
      opsFilter: (tags, filter) => {
        const words = filter.toLowerCase().split(/\s+/)
        const matches = (tag) => (item) => {
          const operation = item.get('operation')
          const texts = ['operationId', 'summary', 'description'].map((name) =>
            operation.get(name)
          )
          const text = [tag, item.get('method'), item.get('path'), ...texts]
            .join(' ')
            .toLowerCase()
          return words.every((word) => text.includes(word))
        }
        return tags
          .map((content, tag) =>
            content.update('operations', (all) => all.filter(matches(tag)))
          )
          .filter((content) => content.get('operations').size > 0)
      }
    },
    wrapComponents: {
      // Labels for assistive technology. Swagger UI labels some buttons and inputs with other words than it shows.
      InfoContainer: within('section', { 'aria-label': 'About' }),
      AuthorizeBtnContainer: within('section', {
        'aria-label': 'Authorization'
      }),
      ExamplesSelect: within('label', { 'aria-label': 'Examples' }),
      HighlightCode: withProps({ canCopy: true }),
      TextArea: withProps({ 'aria-label': 'Request body' }),
      CloseIcon: withProps({
        role: 'img',
        'aria-hidden': false,
        'aria-label': 'Close'
      }),
      ModelCollapse: (Original) => (props) =>
        h(Original, { ...props, title: props.title ?? 'Schema' }),
      Button: withProps({ 'aria-label': undefined }),
      Input: withProps({ 'aria-label': undefined }),
      operations: (Original) => (props) =>
        props.specSelectors.taggedOperations().size > 0
          ? h(Original, props)
          : h('h3', null, 'No operation matches.'),
      // A native modal dialog keeps the focus inside, and returns it when it closes.
      authorizationPopup: (Original) => (props) => {
        const ref = React.useRef()
        React.useLayoutEffect(() => {
          const dialog = ref.current
          dialog.showModal()
          dialog.querySelector('input')?.focus()
          return () => dialog.close()
        }, [])
        const onClose = () => props.authActions.showDefinitions(false)
        return h(
          'dialog',
          { ref, onClose, 'aria-label': 'Authorization' },
          h(Original, props)
        )
      }
    }
  }
})
