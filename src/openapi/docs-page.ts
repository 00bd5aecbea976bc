export type Environment = 'development' | 'staging' | 'production'

/** The contrast of white on each color is at least 5.5 to 1. */
const colors: Record<Environment, string> = { development: '#2b5c8a', staging: '#8a5a00', production: '#9b1c1c' }

/** A favicon: the initial of the API on the color of the environment. */
export function icon(title: string, environment: Environment): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="${colors[environment]}"/>
<text x="16" y="24" fill="#fff" font-family="sans-serif" font-size="22" text-anchor="middle">${title.charAt(0)}</text>
</svg>`
}

/**
 * The JavaScript that runs before Swagger UI renders. It adds a viewport to the page, without which a phone shows a
 * small desktop, and a plugin to Swagger UI's standalone preset, which is an array of plugins. `uiConfig.plugins`
 * would replace the plugins of @fastify/swagger-ui.
 */
export function script(title: string, environment: Environment): string {
  return `'use strict'
const viewport = document.createElement('meta')
viewport.name = 'viewport'
viewport.content = 'width=device-width, initial-scale=1'
document.head.append(viewport)

SwaggerUIStandalonePreset.push(({ React }) => {
  const h = React.createElement
  const having = (changes) => (Original) => (props) => h(Original, { ...props, ...changes })
  const labelled = (label) => (Original) => (props) => h('section', { 'aria-label': label }, h(Original, props))
  return {
    components: {
      Topbar: ({ getComponent }) =>
        h('header', { className: 'topbar', role: 'banner' },
          h('span', {}, ${JSON.stringify(title)}, ' · ', h('strong', {}, '${environment}')),
          h(getComponent('DarkModeToggle'))),
      // The OpenAPI document instead of /docs/json.
      InfoUrl: () => ['/openapi.yaml', '/openapi.json'].map((href) =>
        h('a', { key: href, href, className: 'link' }, href, ' ')),
      // The page's policy allows requests to the deployment that serves it, which is the first server.
      ServersContainer: () => null
    },
    wrapComponents: {
      // Names for assistive technology. Buttons and inputs lose theirs, which differ from their visible text.
      InfoContainer: labelled('About'),
      AuthorizeBtnContainer: labelled('Authorization'),
      ExamplesSelect: (Original) => (props) => h('label', {}, h(Original, { ...props, showLabels: true })),
      TextArea: having({ 'aria-label': 'Request body' }),
      CloseIcon: having({ role: 'img', 'aria-hidden': false, 'aria-label': 'Close' }),
      ModelCollapse: (Original) => (props) => h(Original, { ...props, title: props.title ?? 'Schema' }),
      Button: having({ 'aria-label': undefined }),
      Input: having({ 'aria-label': undefined }),
      // A modal dialog keeps the focus and returns it.
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
`
}

/** The banner, the focus, and what Swagger UI lacks in contrast and on a phone. */
export function style(environment: Environment): string {
  return `.swagger-ui {
  /* Scrolled, a band of 6 pixels stays: a link to an operation leaves 9 above it. */
  .topbar {
    position: sticky; top: calc(6px - 3rem); z-index: 1; height: 3rem; padding: 0 1.25rem;
    display: flex; align-items: center; justify-content: space-between;
    background: ${colors[environment]} !important; color: #fff;
  }
  :focus-visible { outline: 3px solid #3b82d6 !important; outline-offset: 1px; }
  .topbar :focus-visible { outline-color: #fff !important; }
  dialog { padding: 0; border: 0; color: inherit; }
  .response-control-examples__title { display: none; }
  .microlight, .microlight code { white-space: pre-wrap !important; overflow-wrap: anywhere; }
  .microlight [style*='rgb(211, 99, 99)'] { color: #ff9d9d !important; }
  .opblock .opblock-summary-method { color: #1b1b1b; text-shadow: none; }
  .opblock.opblock-deprecated { opacity: 1; }
}
html:not(.dark-mode) .swagger-ui {
  .info a { color: #2262a8; }
  .btn.authorize { color: #1b7a4e; }
  .btn.cancel { color: #b92525; }
  .btn.execute { background: #2262a8; }
  .download-contents, .info .title small.version-stamp, .info .title small { background: #4b5260; }
  .parameter__in, .property.primitive, tr.description { color: #4b5260; }
}
html.dark-mode .swagger-ui {
  .opblock .opblock-section-header .btn.cancel { color: #ff8f8f; }
  table.headers td, .examples-select__section-label { color: #e4e6e6; }
}
@media (max-width: 640px) {
  .swagger-ui {
    .wrapper { padding: 0 0.5rem; }
    .modal-ux { min-width: 0; width: calc(100% - 1rem); }
    .auth-container input { width: 100%; }
    .opblock td { overflow-wrap: anywhere; }
    .info table :is(th, td) { min-width: 0; padding: 0.25rem 0.5rem 0.25rem 0; font-size: 0.75rem; }
    .info table code { padding: 0; font-size: 0.6875rem; }
    .headers :is(th, td):last-child { white-space: nowrap; }
    .response-controls { flex-direction: column; gap: 0.5rem; }
    .live-responses-table .highlight-code pre { padding-bottom: 3rem !important; }
    [role='tabpanel'] { overflow-x: auto; }
    .response-col_links { display: none; }
  }
}
`
}
