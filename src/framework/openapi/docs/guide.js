// Names this deployment in code, which a button copies. navigator.clipboard
// would need HTTPS.
const address = new URL('..', location).href.slice(0, -1)
for (const code of document.querySelectorAll('pre')) {
  code.innerHTML = code.innerHTML.replace(
    /(?<=BASE_URL=)https?:\/\/[^/]+/,
    address
  )
  const button = document.createElement('button')
  button.textContent = 'Copy'
  button.addEventListener('click', () => {
    getSelection().selectAllChildren(code)
    document.execCommand('copy')
    button.textContent = 'Copied'
  })
  code.before(button)
}

// The keyboard can scroll an element only if it can have the focus.
for (const table of document.querySelectorAll('table')) table.tabIndex = 0
