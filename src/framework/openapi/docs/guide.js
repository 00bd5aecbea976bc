// Copies code. navigator.clipboard would need HTTPS.
for (const code of document.querySelectorAll('pre')) {
  const button = document.createElement('button')
  button.textContent = 'Copy'
  button.addEventListener('click', () => {
    getSelection().selectAllChildren(code)
    document.execCommand('copy')
    button.textContent = 'Copied'
  })
  code.before(button)
}
