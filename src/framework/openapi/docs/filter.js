// The filter of operations, in place of the list of servers: the
// Content-Security-Policy of the page blocks requests to other servers.
{
  const filterInput =
    ({ createElement: h }) =>
    ({ layoutActions, layoutSelectors }) => {
      const label = 'Filter operations'
      const input = h('input', {
        type: 'search',
        placeholder: label,
        'aria-label': label,
        value: layoutSelectors.currentFilter() || '',
        onChange: ({ target }) => layoutActions.updateFilter(target.value)
      })
      return h('search', null, h('h2', null, 'Operations'), input)
    }

  const operations =
    ({ createElement: h }) =>
    (Original) =>
    (props) =>
      props.specSelectors.taggedOperations().size > 0
        ? h(Original, props)
        : h('h3', null, 'No operation matches.')

  /** Follows a reference of the OpenAPI document. */
  const resolved = (node, spec) => {
    const pointer = node?.get?.('$ref')
    if (pointer === undefined) return node
    return resolved(spec.getIn(pointer.split('/').slice(1)), spec)
  }

  /** The names of schemas and properties in a schema. */
  const namesInSchema = (schema, spec) => {
    if (schema === undefined) return []
    const names = [schema.get('$ref')?.split('/').at(-1)]
    const target = resolved(schema, spec)
    for (const [name, property] of target.get('properties') ?? [])
      names.push(name, ...namesInSchema(property, spec))
    return [...names, ...namesInSchema(target.get('items'), spec)]
  }

  /** The names in all media types of a body. */
  const namesInBody = (body, spec) =>
    [...(body?.get('content')?.values() ?? [])].flatMap((mediaType) =>
      namesInSchema(mediaType.get('schema'), spec)
    )

  const parameterNames = (operation, spec) =>
    [...(operation.get('parameters') ?? [])].map((parameter) =>
      resolved(parameter, spec).get('name')
    )

  /** The status, headers, schemas and properties of each response. */
  const responseNames = (operation, spec) =>
    [...operation.get('responses')].flatMap(([status, reference]) => {
      const response = resolved(reference, spec)
      const headers = response.get('headers')?.keys() ?? []
      return [status, ...headers, ...namesInBody(response, spec)]
    })

  /** The text of an operation that the filter searches, in lower case. */
  const textOf = (item, tag, spec) => {
    const operation = item.get('operation')
    const texts = [
      tag,
      item.get('method'),
      item.get('path'),
      operation.get('operationId'),
      operation.get('summary'),
      operation.get('description'),
      operation.get('x-scopes')?.join(' '),
      ...parameterNames(operation, spec),
      ...namesInBody(resolved(operation.get('requestBody'), spec), spec),
      ...responseNames(operation, spec)
    ]
    return texts.join(' ').toLowerCase()
  }

  /** Keeps the operations whose text has every word of the filter. */
  const opsFilter = (getSystem) => (tags, filter) => {
    const spec = getSystem().specSelectors.specJson()
    const words = filter.toLowerCase().split(/\s+/)
    const matches = (item, tag) => {
      const text = textOf(item, tag, spec)
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

  SwaggerUIStandalonePreset.push(({ React, getSystem }) => ({
    components: {
      ServersContainer: filterInput(React),
      FilterContainer: () => null
    },
    fn: { opsFilter: opsFilter(getSystem) },
    wrapComponents: { operations: operations(React) }
  }))
}
