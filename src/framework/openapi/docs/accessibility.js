// Labels and roles for assistive technology, which Swagger UI lacks or has
// wrong.
{
  const wrappers = ({ createElement: h, useLayoutEffect, useRef }) => {
    const withProps = (changes) => (Original) => (props) =>
      h(Original, { ...props, ...changes })
    const within = (element, label) => (Original) => (props) =>
      h(element, { 'aria-label': label }, h(Original, props))

    /** The list of values of a parameter gets its name as label. */
    const jsonSchemaForm = (Original) => (props) => {
      const form = h(Original, props)
      if (props.schema?.get('enum') === undefined) return form
      const name = h('span', { className: 'hidden-label' }, props.description)
      return h('label', null, name, form)
    }

    /**
     * Each table of responses is a region without a name. React does not set an
     * attribute again that stays the same.
     */
    const responses = (Original) => (props) => {
      const ref = useRef()
      useLayoutEffect(() => {
        const regions = ref.current.querySelectorAll('table[role=region]')
        for (const table of regions) table.removeAttribute('role')
      })
      return h('div', { ref }, h(Original, props))
    }

    return {
      InfoContainer: within('section', 'About'),
      AuthorizeBtnContainer: within('section', 'Authorization'),
      ExamplesSelect: within('label', 'Examples'),
      TextArea: withProps({ 'aria-label': 'Request body' }),
      CloseIcon: withProps({
        role: 'img',
        'aria-hidden': false,
        'aria-label': 'Close'
      }),
      ModelCollapse: (Original) => (props) =>
        h(Original, { ...props, title: props.title ?? 'Schema' }),
      // They are labeled with other words than they show.
      Button: withProps({ 'aria-label': undefined }),
      Input: withProps({ 'aria-label': undefined }),
      JsonSchemaForm: jsonSchemaForm,
      responses
    }
  }

  SwaggerUIStandalonePreset.push(({ React }) => ({
    wrapComponents: wrappers(React)
  }))
}
