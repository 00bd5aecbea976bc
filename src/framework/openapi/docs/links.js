// Links within the page: from the names of operations in texts, from the links
// of the OpenAPI document, and to each operation.
{
  /** The address of each operation by its operationId. */
  const addresses = (specSelectors) =>
    new Map(
      [...specSelectors.operations()].map((item) => {
        const operation = item.get('operation')
        const tag = operation.getIn(['tags', 0], 'default')
        const id = operation.get('operationId')
        return [id, `#/${encodeURIComponent(tag)}/${id}`]
      })
    )

  /** Makes the names of operations links, except in code. */
  const linkNames = (source, hrefs) =>
    source
      .split(/(`[^`]*`)/)
      .map((text) =>
        text.startsWith('`')
          ? text
          : text.replace(/\b\w+\b/g, (word) =>
              hrefs.has(word) ? `[${word}](${hrefs.get(word)})` : word
            )
      )
      .join('')

  const markdown =
    ({ createElement: h }) =>
    (Original, { specSelectors }) =>
    (props) => {
      if (typeof props.source !== 'string') return null
      const source = linkNames(props.source, addresses(specSelectors))
      return h(Original, { ...props, source })
    }

  /** A link of the OpenAPI document: where its operation can lead. */
  const operationLink =
    ({ createElement: h }) =>
    (_Original, { specSelectors }) =>
    ({ link }) => {
      const id = link.get('operationId')
      const href = addresses(specSelectors).get(id)
      const target = h('a', { href }, id)
      return h(
        'p',
        { className: 'next' },
        target,
        ': ',
        link.get('description')
      )
    }

  /** Swagger UI has a link inside of the button that opens an operation. */
  const summaryPath =
    ({ createElement: h }) =>
    (Original) =>
    (props) => {
      const { operationProps } = props
      const withoutLink = operationProps.set('isDeepLinkingEnabled', false)
      return h(Original, { ...props, operationProps: withoutLink })
    }

  /** The link to an operation, beside that button. */
  const linkToOperation =
    ({ createElement: h }) =>
    ({ path, specSelectors }) => {
      const [root] = path
      if (root !== 'paths') return null
      const id = specSelectors.specJson().getIn([...path, 'operationId'])
      const attributes = {
        href: addresses(specSelectors).get(id),
        className: 'link-to-operation',
        'aria-label': `Link to ${id}`
      }
      return h('a', attributes, '#')
    }

  /** Opens the operation that a link of the page leads to. */
  const openLinked = (layoutActions) => (event) => {
    const link = event.target.closest('a[href^="#/"]:not(.nostyle)')
    if (link === null) return
    event.preventDefault()
    const [tag, id] = link.hash.slice(2).split('/').map(decodeURIComponent)
    layoutActions.updateFilter('')
    layoutActions.show(['operations', tag, id], true)
    requestAnimationFrame(() => {
      const block = document.querySelector(`.opblock[id$="-${id}"]`)
      block.scrollIntoView()
      block.querySelector('button').focus()
    })
  }

  SwaggerUIStandalonePreset.push(({ React }) => ({
    components: {
      CopyToClipboardBtn: () => null,
      JumpToPath: linkToOperation(React)
    },
    wrapComponents: {
      Markdown: markdown(React),
      operationLink: operationLink(React),
      OperationSummaryPath: summaryPath(React)
    },
    afterLoad: ({ layoutActions }) =>
      document.addEventListener('click', openLinked(layoutActions))
  }))
}
