// Shows responses with their numbers as sent. JSON.parse() rounds integers
// above 2^53, such as ids.
{
  const keepNumber = (_key, value, { source }) =>
    typeof value === 'number' ? JSON.rawJSON(source) : value

  /**
   * Indents JSON. Invalid JSON, and all in an older browser, stays as it is.
   */
  const indent = (json) => {
    try {
      return JSON.stringify(JSON.parse(json, keepNumber), null, 2)
    } catch {
      return json
    }
  }

  const responseBody =
    ({ createElement: h }) =>
    (Original, { getComponent }) =>
    (props) => {
      if (!/json/.test(props.contentType)) return h(Original, props)
      const code = h(
        getComponent('HighlightCode', true),
        { language: 'json', downloadable: true, fileName: 'response.json' },
        indent(props.content)
      )
      return h('div', null, h('h5', null, 'Response body'), code)
    }

  SwaggerUIStandalonePreset.push(({ React }) => ({
    wrapComponents: { responseBody: responseBody(React) }
  }))
}
