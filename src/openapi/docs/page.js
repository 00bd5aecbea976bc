// Runs before Swagger UI renders, and changes it by its plugin API. The page lacks a viewport.
document.head.insertAdjacentHTML('beforeend', '<meta name="viewport" content="width=device-width, initial-scale=1">')

// The standalone preset is an array of plugins. `uiConfig.plugins` would replace the plugins of @fastify/swagger-ui.
SwaggerUIStandalonePreset.push(({ React }) => {
  const h = React.createElement
  const withProps = (changes) => (Original) => (props) => h(Original, { ...props, ...changes })
  const within = (element, attributes) => (Original) => (props) => h(element, attributes, h(Original, props))
  return {
    components: {
      Topbar: ({ getComponent }) =>
        h('header', { className: 'topbar', role: 'banner' }, document.title, h(getComponent('DarkModeToggle'))),
      // Links to the OpenAPI document instead of /docs/json.
      InfoUrl: () =>
        ['/openapi.yaml', '/openapi.json'].map((href) => h('a', { key: href, href, className: 'link' }, href, ' ')),
      // The Content-Security-Policy of the page blocks requests to other servers.
      ServersContainer: () => null
    },
    wrapComponents: {
      // Labels for assistive technology. Swagger UI labels some buttons and inputs with other words than it shows.
      InfoContainer: within('section', { 'aria-label': 'About' }),
      AuthorizeBtnContainer: within('section', { 'aria-label': 'Authorization' }),
      ExamplesSelect: within('label', { 'aria-label': 'Examples' }),
      TextArea: withProps({ 'aria-label': 'Request body' }),
      CloseIcon: withProps({ role: 'img', 'aria-hidden': false, 'aria-label': 'Close' }),
      ModelCollapse: (Original) => (props) => h(Original, { ...props, title: props.title ?? 'Schema' }),
      Button: withProps({ 'aria-label': undefined }),
      Input: withProps({ 'aria-label': undefined }),
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
        return h('dialog', { ref, onClose, 'aria-label': 'Authorization' }, h(Original, props))
      }
    }
  }
})
