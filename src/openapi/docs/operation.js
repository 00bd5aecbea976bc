// What an open operation shows: code samples first, then one line for each response.
SwaggerUIStandalonePreset.push(({ React }) => {
  const h = React.createElement

  /** The code samples of an operation in tabs. All operations show the language that was chosen last. */
  function CodeSamples({ samples, getComponent, layoutActions, layoutSelectors, specSelectors }) {
    const id = React.useId()
    const languages = samples.map(({ lang }) => lang)
    const index = Math.max(0, languages.indexOf(layoutSelectors.whatMode('samples')))
    const choose = (next) => layoutActions.changeMode('samples', languages[next])
    const onKeyDown = ({ key, currentTarget }) => {
      const { length } = languages
      const next = { ArrowLeft: index + length - 1, ArrowRight: index + 1, Home: 0, End: length - 1 }[key]
      if (next === undefined) return
      choose(next % length)
      currentTarget.children[next % length].focus()
    }
    // Samples name the production server. The reader wants the deployment that serves this page.
    const [here, ...others] = specSelectors.specJson().get('servers').toJS().map(serverUrl)
    const source = others.reduce((text, other) => text.replaceAll(other, here), samples[index].source.trim())
    return h(
      'section',
      { className: 'samples', 'aria-label': 'Code samples' },
      h(
        'div',
        { role: 'tablist', 'aria-label': 'Language', onKeyDown },
        samples.map(({ lang, label }, tab) =>
          h(
            'button',
            {
              key: lang,
              id: `${id}${lang}`,
              role: 'tab',
              'aria-selected': tab === index,
              'aria-controls': id,
              tabIndex: tab === index ? 0 : -1,
              onClick: () => choose(tab)
            },
            label ?? lang
          )
        )
      ),
      h(
        'div',
        { role: 'tabpanel', id, 'aria-labelledby': `${id}${languages[index]}` },
        h(getComponent('HighlightCode', true), { language: languages[index] === 'Shell' ? 'bash' : undefined }, source)
      )
    )
  }

  /** The absolute URL of a server, with the defaults of its variables. */
  const serverUrl = ({ url, variables }) =>
    new URL(
      url.replace(/\{(\w+)\}/g, (_, name) => variables[name].default),
      document.baseURI
    ).href

  const isWide = matchMedia('(min-width: 641px)').matches

  return {
    components: { CodeSamples },
    wrapComponents: {
      parameters:
        (Original, { getComponent }) =>
        (props) => {
          const samples = props.operation.get('x-codeSamples')?.toJS()
          return [
            samples && h(getComponent('CodeSamples', true), { key: 'samples', samples }),
            h(Original, { key: 'parameters', ...props })
          ]
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
          const description = h(getComponent('Markdown', true), { source: response.get('description') })
          const details = h(Original, { ...props, response: response.delete('description') })
          return h(
            'tr',
            null,
            h(
              'td',
              null,
              h(
                'details',
                { open: isDefault && isWide },
                h('summary', null, h('strong', null, code), description),
                h('table', null, h('tbody', null, details))
              )
            )
          )
        },
      headers: (Original) => (props) =>
        h('details', null, h('summary', null, 'Headers: ', props.headers.keySeq().join(', ')), h(Original, props))
    }
  }
})
