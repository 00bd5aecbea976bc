// The limits of fields and parameters, without a click.
{
  /** A range in words: `1 to 255`, `at least 1`, `at most 255`. */
  const range = (least, most) => {
    if (least === undefined && most === undefined) return undefined
    if (most === undefined) return `at least ${least}`
    if (least === undefined) return `at most ${most}`
    return `${least} to ${most}`
  }

  /** What a value must be, in words. */
  const limitsOf = (schema, isRequired) => {
    const length = range(schema.get('minLength'), schema.get('maxLength'))
    const limits = [
      schema.get('format') ?? schema.get('type'),
      isRequired && 'required',
      length && `${length} characters`,
      range(schema.get('minimum'), schema.get('maximum')),
      schema.get('enum')?.join(' | '),
      schema.has('default') && `default ${schema.get('default')}`
    ]
    return limits.filter(Boolean).join(', ')
  }

  const fieldsComponent =
    ({ createElement: h, Fragment }) =>
    ({ schema, getComponent }) => {
      const required = schema.get('required') ?? []
      const fields = [...schema.get('properties')].map(([name, property]) => {
        const limits = limitsOf(property, required.includes(name))
        const source = property.get('description')
        const text = h(getComponent('Markdown', true), { source })
        const term = h('dt', null, h('code', null, name), ' ', limits)
        return h(Fragment, { key: name }, term, h('dd', null, text))
      })
      return h('dl', { className: 'fields' }, fields)
    }

  const requestBody =
    ({ createElement: h, Fragment }) =>
    (Original, { getComponent }) =>
    (props) => {
      const { contentType, requestBody: body } = props
      const schema = body.getIn(['content', contentType, 'schema'])
      const fields =
        schema?.has('properties') && h(getComponent('Fields', true), { schema })
      return h(Fragment, null, fields, h(Original, props))
    }

  /**
   * Shows the limits of a parameter, but no pattern: its text says it in words.
   */
  const parameterExt =
    ({ createElement: h }) =>
    (Original) =>
    (props) =>
      props.xKey !== 'pattern' && h(Original, props)

  SwaggerUIStandalonePreset.push(({ React }) => ({
    components: { Fields: fieldsComponent(React) },
    wrapComponents: {
      ParameterExt: parameterExt(React),
      RequestBody: requestBody(React)
    }
  }))
}
