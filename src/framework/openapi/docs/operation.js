// What an open operation shows: the scopes that it needs and code samples
// first, then one line for each response.
{
  const isWide = matchMedia('(min-width: 641px)').matches

  /** The absolute URL of a server, with the defaults of its variables. */
  const urlOf = ({ url, variables }) => {
    const expanded = url.replace(
      /\{(\w+)\}/g,
      (_, name) => variables[name].default
    )
    return new URL(expanded, document.baseURI).href
  }

  /**
   * Samples name the production server. The reader wants the deployment that
   * serves this page, which is the first server.
   */
  const sourceOf = (sample, servers) => {
    const [here, ...others] = servers.map(urlOf)
    return others.reduce(
      (source, other) => source.replaceAll(other, here),
      sample.source.trim()
    )
  }

  /**
   * The code samples of an operation. All operations show the language that was
   * chosen last.
   */
  const samplesComponent = ({ createElement: h, useId }) =>
    function CodeSamples({
      id,
      samples,
      getComponent,
      layoutActions,
      layoutSelectors,
      specSelectors
    }) {
      const name = useId()
      const language = layoutSelectors.whatMode('samples')
      const chosen = samples.find(({ lang }) => lang === language) ?? samples[0]

      const choices = samples.map(({ lang, label = lang }) => {
        const checked = lang === chosen.lang
        const onChange = () => layoutActions.changeMode('samples', lang)
        const input = h('input', { type: 'radio', name, checked, onChange })
        return h('label', { key: lang }, input, label)
      })

      const servers = specSelectors.specJson().get('servers').toJS()
      const code = h(
        getComponent('HighlightCode', true),
        { language: chosen.lang === 'Shell' ? 'bash' : undefined },
        sourceOf(chosen, servers)
      )
      const label = `Code samples of ${id}`
      const attributes = { className: 'samples', 'aria-label': label }
      return h('section', attributes, choices, code)
    }

  /** The scopes that an API key needs for an operation. */
  const scopesLine =
    ({ createElement: h }) =>
    ({ scopes }) => {
      const code = h('code', null, scopes.join(' '))
      return h('p', { className: 'scopes' }, 'Required scope: ', code)
    }

  /** Shows the scopes and the code samples before the parameters. */
  const parameters =
    ({ createElement: h, Fragment }) =>
    (Original, { getComponent }) =>
    (props) => {
      const scopes = props.operation.get('x-scopes')?.toJS()
      const scopesShown = scopes && h(getComponent('Scopes'), { scopes })
      const id = props.operation.get('operationId')
      const samples = props.operation.get('x-codeSamples')?.toJS()
      const codeSamples =
        samples && h(getComponent('CodeSamples', true), { id, samples })
      return h(Fragment, null, scopesShown, codeSamples, h(Original, props))
    }

  /** Extensions of an operation that are shown elsewhere. */
  const shownElsewhere = [
    'x-codeSamples',
    'x-scopes',
    'x-deprecated-at',
    'x-sunset',
    'x-successor'
  ]

  /** Shows the other extensions of an operation. */
  const extensions =
    ({ createElement: h }) =>
    (Original) =>
    (props) => {
      const others = props.extensions.filterNot((_value, name) =>
        shownElsewhere.includes(name)
      )
      return others.size > 0 && h(Original, { ...props, extensions: others })
    }

  /**
   * Since when an operation is deprecated, until when it works, and what next.
   */
  const deprecationLine =
    ({ createElement: h }) =>
    ({ operation, method, getComponent, specSelectors }) => {
      const since = operation.get('x-deprecated-at')
      const sunset = operation.get('x-sunset')
      const successor = ['paths', operation.get('x-successor'), method]
      const id = specSelectors.specJson().getIn([...successor, 'operationId'])
      const sentences = [
        since ? `**Deprecated** since ${since}.` : '**Deprecated**.',
        sunset && `It works until ${sunset}.`,
        id && `Its successor is ${id}.`
      ]
      const source = sentences.filter(Boolean).join(' ')
      const text = h(getComponent('Markdown', true), { source })
      return h('div', { className: 'deprecation' }, text)
    }

  /** Shows the deprecation of an open operation at its top. */
  const operationSummary =
    ({ createElement: h, Fragment }) =>
    (Original, { getComponent }) =>
    (props) => {
      const { operationProps, isShown } = props
      const { deprecated, op: operation, method } = operationProps.toObject()
      const line =
        isShown &&
        deprecated &&
        h(getComponent('Deprecation', true), { operation, method })
      return h(Fragment, null, h(Original, props), line)
    }

  /**
   * Shows a line for each response. Only the success is open at first, if the
   * screen has room.
   */
  const responseLine =
    ({ createElement: h }) =>
    (Original, { getComponent }) =>
    (props) => {
      const { code, response, isDefault } = props
      const source = response.get('description')
      const summary = h(
        'summary',
        null,
        h('strong', null, code),
        h(getComponent('Markdown', true), { source })
      )

      const rest = { ...props, response: response.delete('description') }
      const row = h(Original, rest)
      const table = h('table', null, h('tbody', null, row))
      const open = isDefault && isWide
      const details = h('details', { open }, summary, table)
      return h('tr', null, h('td', null, details))
    }

  /** Shows the names of the headers in one line, which opens them. */
  const headers =
    ({ createElement: h }) =>
    (Original) =>
    (props) => {
      const names = props.headers.keySeq().join(', ')
      const summary = h('summary', null, 'Headers: ', names)
      return h('details', null, summary, h(Original, props))
    }

  SwaggerUIStandalonePreset.push(({ React }) => ({
    components: {
      CodeSamples: samplesComponent(React),
      Deprecation: deprecationLine(React),
      Scopes: scopesLine(React)
    },
    wrapComponents: {
      parameters: parameters(React),
      OperationExt: extensions(React),
      OperationSummary: operationSummary(React),
      response: responseLine(React),
      headers: headers(React)
    }
  }))
}
