// The parts of the page around the operations.
//
// The scripts of this folder run before Swagger UI renders, and change it by
// its plugin API. SwaggerUIStandalonePreset is an array of plugins.
// `uiConfig.plugins` would replace the plugins of @fastify/swagger-ui.
{
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

  const copyButton =
    ({ createElement: h }) =>
    (Original) =>
    (props) =>
      h(Original, { ...props, canCopy: true })

  SwaggerUIStandalonePreset.push(({ React }) => ({
    components: {
      Topbar: topbar(React),
      InfoUrl: documentLinks(React)
    },
    statePlugins: { spec: { wrapSelectors: { externalDocs } } },
    wrapComponents: { HighlightCode: copyButton(React) }
  }))
}
