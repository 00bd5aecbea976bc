// The Authorize dialog.
{
  /**
   * A native modal dialog keeps the focus inside, and returns it at its end.
   */
  const authorizationPopup =
    ({ createElement: h, useLayoutEffect, useRef }) =>
    (Original) =>
    (props) => {
      const ref = useRef()
      useLayoutEffect(() => {
        const dialog = ref.current
        dialog.showModal()
        dialog.querySelector('input')?.focus()
        return () => dialog.close()
      }, [])

      // Authorize and Logout remove the input or button that has the focus.
      useLayoutEffect(() => {
        const dialog = ref.current
        if (!dialog.contains(document.activeElement))
          dialog.querySelector('.btn-done').focus()
      })

      const onClose = () => props.authActions.showDefinitions(false)
      const attributes = { ref, onClose, 'aria-label': 'Authorization' }
      return h('dialog', attributes, h(Original, props))
    }

  /** How to get a key, below the form. */
  const auths =
    ({ createElement: h, Fragment }) =>
    (Original, { getComponent }) =>
    (props) => {
      const help = h(getComponent('KeyHelp', true))
      return h(Fragment, null, h(Original, props), help)
    }

  const keyHelp =
    ({ createElement: h }) =>
    ({ getConfigs, specSelectors }) => {
      const isLocal = getConfigs().environment === 'development'
      const name = specSelectors.info().getIn(['contact', 'name'])
      const href = specSelectors.info().getIn(['contact', 'url'])
      const remedy = isLocal
        ? [
            'In the folder of the service, run ',
            h('code', { key: 'command' }, 'npm run keys -- create --name me')
          ]
        : ['Ask the operator: ', h('a', { key: 'contact', href }, name)]
      return h('p', { className: 'key-help' }, 'No key yet? ', ...remedy, '.')
    }

  /** The key in what was pasted, such as `Authorization: Bearer petcat_…`. */
  const keyIn = (pasted, prefix) => {
    const start = prefix === undefined ? -1 : pasted.indexOf(prefix)
    if (start === -1) return pasted.trim()
    return pasted.slice(start).match(/[^\s"']+/)[0]
  }

  /** Takes only the keys, by the security schemes of the OpenAPI document. */
  const authorize = (original) => (payload) => {
    const authorizations = Object.entries(payload).map(([name, entered]) => {
      const { schema, value } = entered
      if (schema.get('scheme') !== 'bearer') return [name, entered]
      const key = keyIn(value, schema.get('x-key-prefix'))
      return [name, { ...entered, value: key }]
    })
    return original(Object.fromEntries(authorizations))
  }

  SwaggerUIStandalonePreset.push(({ React }) => ({
    components: { KeyHelp: keyHelp(React) },
    wrapComponents: {
      authorizationPopup: authorizationPopup(React),
      auths: auths(React)
    },
    statePlugins: { auth: { wrapActions: { authorize } } }
  }))
}
