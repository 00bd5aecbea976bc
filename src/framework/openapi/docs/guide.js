// Names this deployment in code.
const address = new URL('..', location).href.slice(0, -1)
for (const code of document.querySelectorAll('pre')) {
  code.innerHTML = code.innerHTML.replace(
    /(?<=BASE_URL=)https?:\/\/[^/]+/,
    address
  )
}

// The keyboard can scroll an element only if it can have the focus.
for (const table of document.querySelectorAll('table')) table.tabIndex = 0
