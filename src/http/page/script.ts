/** What Swagger UI leaves out, as JavaScript for the head of the page: a scheme of colours, and names for assistive technology. */
export const script = `'use strict'

// Swagger UI is dark under a class that only its own top bar would set.
const dark = matchMedia('(prefers-color-scheme: dark)')
const followScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', followScheme)
followScheme()

const names = {
  '#servers': 'Server',
  '.examples-select-element': 'Example',
  '.body-param__text': 'Request body',
  '.close-modal': 'Close',
  '.modal-ux': 'Available authorizations',
  '.information-container section': 'About',
  '.schemes': 'Server and key'
}

let opener = null
let isOpen = false
const firstOf = (dialog) => dialog.querySelector('input, button')

// The dialog is told as one, keeps the focus, and gives it back.
const mendDialog = () => {
  const dialog = document.querySelector('.modal-ux')
  if (dialog) {
    dialog.role = 'dialog'
    dialog.ariaModal = 'true'
    if (document.activeElement === document.body) firstOf(dialog).focus()
  } else if (isOpen) opener?.focus()
  isOpen = dialog !== null
}
document.addEventListener('focusin', ({ target }) => {
  const dialog = document.querySelector('.modal-ux')
  if (!dialog) opener = target
  else if (!dialog.contains(target)) firstOf(dialog).focus()
})

const mend = () => {
  for (const [selector, name] of Object.entries(names)) {
    for (const element of document.querySelectorAll(selector)) element.ariaLabel = name
  }
  // The signs on them are no words.
  for (const element of document.querySelectorAll('.model-box-control')) {
    const row = element.closest('tr')
    if (!/\\w/.test(element.textContent)) element.ariaLabel = 'Details of ' + (row ? row.cells[0].textContent : 'items')
  }
  // These have a text or a label, and a name beside it that differs from what is seen.
  for (const element of document.querySelectorAll('.auth-btn-wrapper [aria-label], #auth-bearer-value[aria-label]')) {
    element.removeAttribute('aria-label')
  }
  // Its role would take from a table that it is one.
  for (const element of document.querySelectorAll('table[role]')) element.removeAttribute('role')
  // What scrolls must be within reach of the keyboard.
  for (const element of document.querySelectorAll('pre, .info table')) {
    if (element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight) element.tabIndex = 0
  }
  // A link inside a button is a second stop for the keyboard, and the button does the same.
  for (const element of document.querySelectorAll('.opblock-summary-control a[href]')) element.removeAttribute('href')
  mendDialog()
}
new MutationObserver(mend).observe(document, { childList: true, subtree: true })
`
