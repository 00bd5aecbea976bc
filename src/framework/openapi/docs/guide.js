// Names this deployment in code, which a button copies. navigator.clipboard
// would need HTTPS.
for (const code of document.querySelectorAll('pre')) {
  code.innerHTML = code.innerHTML.replace(
    /(?<=BASE_URL=)https?:\/\/[^/]+/,
    location.origin
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
