// What an open operation shows: code samples first, then one line for each response.
SwaggerUIStandalonePreset.push(({ React }) => {
  const h = React.createElement

  /** The code samples of an operation. All operations show the language that was chosen last. */
  function CodeSamples({
    samples,
    getComponent,
    layoutActions,
    layoutSelectors,
    specSelectors
  }) {
    const name = React.useId()
    const chosen =
      samples.find(
        ({ lang }) => lang === layoutSelectors.whatMode('samples')
      ) ?? samples[0]
    const choice = ({ lang, label = lang }) => {
      const checked = lang === chosen.lang
      const onChange = () => layoutActions.changeMode('samples', lang)
      return h(
        'label',
        { key: lang },
        h('input', { type: 'radio', name, checked, onChange }),
        label
      )
    }
    // Samples name the production server. The reader wants the deployment that serves this page.
    const [here, ...others] = specSelectors
      .specJson()
      .get('servers')
      .toJS()
      .map(serverUrl)
    const source = others.reduce(
      (text, other) => text.replaceAll(other, here),
      chosen.source.trim()
    )
    const language = chosen.lang === 'Shell' ? 'bash' : undefined
    const code = h(getComponent('HighlightCode', true), { language }, source)
    return h(
      'section',
      { className: 'samples', 'aria-label': 'Code samples' },
      samples.map(choice),
      code
    )
  }

  /** The absolute URL of a server, with the defaults of its variables. */
  const serverUrl = ({ url, variables }) => {
    const expanded = url.replace(
      /\{(\w+)\}/g,
      (_, name) => variables[name].default
    )
    return new URL(expanded, document.baseURI).href
  }

  const isWide = matchMedia('(min-width: 641px)').matches

  return {
    components: { CodeSamples },
    wrapComponents: {
      parameters:
        (Original, { getComponent }) =>
        (props) => {
          const samples = props.operation.get('x-codeSamples')?.toJS()
          const codeSamples =
            samples && h(getComponent('CodeSamples', true), { samples })
          return h(React.Fragment, null, codeSamples, h(Original, props))
        },
      OperationExt: (Original) => (props) => {
        const extensions = props.extensions.delete('x-codeSamples')
        return extensions.size > 0 && h(Original, { ...props, extensions })
      },
      // A line for each response. Only the success is open at first, if the screen has room.
      response:
        (Original, { getComponent }) =>
        (props) => {
          const { code, response, isDefault } = props
          const description = h(getComponent('Markdown', true), {
            source: response.get('description')
          })
          const summary = h(
            'summary',
            null,
            h('strong', null, code),
            description
          )
          const details = h(Original, {
            ...props,
            response: response.delete('description')
          })
          const table = h('table', null, h('tbody', null, details))
          return h(
            'tr',
            null,
            h(
              'td',
              null,
              h('details', { open: isDefault && isWide }, summary, table)
            )
          )
        },
      headers: (Original) => (props) =>
        h(
          'details',
          null,
          h('summary', null, 'Headers: ', props.headers.keySeq().join(', ')),
          h(Original, props)
        )
    }
  }
})
