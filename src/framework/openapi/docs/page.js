// Changes Swagger UI by its plugin API.

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

/** Makes samples and links name this deployment in place of production. */
const ownOrigin = () => {
  const updateSpec = (original) => (json) => {
    // The path of every deployment, then the first server of openapi.yaml.
    const [path, production = path] = JSON.parse(json).servers
    const { origin } = new URL(production.url, location)
    original(json.replaceAll(origin, location.origin))
  }

  return { statePlugins: { spec: { wrapActions: { updateSpec } } } }
}

/** Shows the code samples of an operation beside its parameters. */
const samples = ({ React: { createElement: h, Fragment }, getSystem }) => {
  const code = (source, language) => {
    const HighlightCode = getSystem().getComponent('HighlightCode', true)
    return h(HighlightCode, { language, canCopy: true }, source)
  }

  const codeSample = ({ lang, label = lang, source }) =>
    h(
      'details',
      { key: lang, open: lang === 'Shell' },
      h('summary', null, label),
      code(source, lang === 'Shell' ? 'bash' : undefined)
    )

  const parameters = (Original) => (props) => {
    const codeSamples = props.operation.get('x-codeSamples')?.toJS() ?? []
    return h(
      Fragment,
      null,
      h('div', { className: 'samples' }, codeSamples.map(codeSample)),
      h(Original, props)
    )
  }

  /** The command of a request, with a variable in place of the key. */
  const curl =
    () =>
    ({ request }) => {
      const command = getSystem().fn.requestSnippetGenerator_curl_bash(request)
      const shown = command.replace(
        /'(Authorization: Bearer ).*'/,
        '"$1$$API_KEY"'
      )
      return h('div', null, h('h4', null, 'Curl'), code(shown, 'bash'))
    }

  return { wrapComponents: { curl, parameters } }
}

/** Checks a key before its use, and keeps it until the tab is closed. */
const authorization = ({ React }) => {
  const authorizeWithPersistOption =
    (original, { errActions, getConfigs }) =>
    async (form) => {
      for (const [authId, { value }] of Object.entries(form)) {
        const headers = { Authorization: `Bearer ${value}` }
        const options = { method: 'HEAD', headers }
        // It fails if the key has characters that no header can have.
        const { status = 401, message = 'This key is not valid' } = await fetch(
          getConfigs().examplePath,
          options
        ).catch((error) => error)

        errActions.clear({ authId })
        if (status === 401) return errActions.newAuthErr({ authId, message })
      }
      original(form)
    }

  const persistAuthorizationIfNeeded =
    (_original, { authSelectors }) =>
    () =>
      sessionStorage.setItem(
        'authorized',
        JSON.stringify(authSelectors.authorized())
      )

  const authError =
    () =>
    ({ error }) =>
      React.createElement('p', { role: 'alert' }, error.get('message'))

  return {
    afterLoad({ authActions }) {
      const authorized = JSON.parse(sessionStorage.getItem('authorized'))
      if (authorized) authActions.restoreAuthorization({ authorized })
    },
    statePlugins: {
      auth: {
        wrapActions: {
          authorizeWithPersistOption,
          persistAuthorizationIfNeeded
        }
      }
    },
    wrapComponents: { authError }
  }
}

/** Makes "Try it out" of a create send a new key, the same for each Execute. */
const idempotencyKeys = ({ React: { createElement: h, ...React } }) => {
  // crypto.randomUUID() needs HTTPS.
  const newKey = () => crypto.getRandomValues(new BigUint64Array(2)).join('-')

  const parameterRow = (Original) => (props) => {
    const { rawParam, isExecute, onChange } = props
    const hasKey = isExecute && rawParam.get('name') === 'Idempotency-Key'
    const renew = () => onChange(rawParam, newKey())
    React.useEffect(() => {
      if (hasKey) renew()
    }, [hasKey])
    if (!hasKey) return h(Original, props)

    const button = { className: 'btn', onClick: renew }
    return h(
      React.Fragment,
      null,
      h(Original, props),
      h(
        'tr',
        null,
        h('td', { colSpan: 2 }, h('button', button, 'New Idempotency-Key'))
      )
    )
  }

  return { wrapComponents: { parameterRow } }
}

/** Makes the dialog modal: it keeps the focus, and returns it at its end. */
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

/** Opens the operation of a link, also of one that was followed before. */
const links = () => ({
  afterLoad({ layoutActions }) {
    const open = ({ hash }) => {
      layoutActions.parseDeepLinkHash(hash)
      const id = `operations${hash.slice(1).replaceAll('/', '-')}`
      document.getElementById(id)?.scrollIntoView()
    }
    addEventListener('hashchange', () => open(location))
    document.querySelector('nav').addEventListener('click', ({ target }) => {
      const link = target.closest('a')
      if (link !== null) open(link)
    })
  }
})

/** Adds landmarks and labels that Swagger UI lacks. */
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

/** Removes what the page does not need, or shows in another place. */
const layout = ({ React: { createElement: h } }) => ({
  components: {
    FilterContainer: () =>
      h('section', { 'aria-label': 'Operations' }, h('h2', null, 'Operations')),
    // The policy of the page blocks requests to other servers.
    ServersContainer: () => null
  },
  wrapComponents: {
    OperationExt: (Original) => (props) => {
      const extensions = props.extensions.delete('x-codeSamples')
      return h(Original, { ...props, extensions })
    }
  }
})

// Replaces Swagger UI's standalone preset, which the page does not load.
window.SwaggerUIStandalonePreset = [
  exactBodies,
  ownOrigin,
  samples,
  authorization,
  idempotencyKeys,
  authorizationDialog,
  links,
  accessibility,
  layout
]
