import { colours, type Environment } from './html.ts'

/** The style sheet of the page: its header, then what Swagger UI needs for contrast, a phone and the keyboard. */
export function style(environment: Environment): string {
  return `html { box-sizing: border-box; scroll-padding: 1rem; }
*, *::before, *::after { box-sizing: inherit; }
body { margin: 0; }
/* The colour stays when the page is scrolled, within the 9 pixels that Swagger UI leaves above what a link leads to. */
body::before {
  content: ''; position: fixed; inset: 0 0 auto; z-index: 1;
  height: 6px; background: ${colours[environment]};
}
noscript { display: block; padding: 1.25rem; font: 1rem/1.5 sans-serif; }
header {
  display: flex; flex-wrap: wrap; justify-content: space-between; gap: 0 1rem;
  padding: 0.5rem 1.25rem;
  background: ${colours[environment]}; color: #fff; font: 0.9375rem/1.75 sans-serif;
}
header a { display: inline-block; margin-left: 0.5rem; color: inherit; }
:focus-visible { outline: 3px solid #1a6fc4 !important; outline-offset: 2px; }
header :focus-visible { outline-color: #fff !important; }
.dark-mode :focus-visible { outline-color: #8cc4ff !important; }

/* The address of a copy; the header has those of the document. */
.swagger-ui .info hgroup.main > a { display: none; }

/* Contrast of 4.5 to 1 and more, in both schemes. */
.swagger-ui .opblock .opblock-summary-method { color: #1b1b1b; text-shadow: none; }
.swagger-ui .opblock.opblock-deprecated { opacity: 1; }
html:not(.dark-mode) .swagger-ui .info a { color: #2262a8; }
html:not(.dark-mode) .swagger-ui .info .title small { background: #5b6270; }
html:not(.dark-mode) .swagger-ui .info .title small.version-stamp { background: #4b6a02; }
html:not(.dark-mode) .swagger-ui .btn.authorize { color: #1b7a4e; border-color: currentcolor; }
html:not(.dark-mode) .swagger-ui .btn.authorize svg { color: inherit; }
html:not(.dark-mode) .swagger-ui .btn.cancel { color: #b92525; border-color: currentcolor; }
html:not(.dark-mode) .swagger-ui .btn.execute { background: #2262a8; border-color: #2262a8; }
html:not(.dark-mode) .swagger-ui .parameter__in { color: #595f6b; }
html:not(.dark-mode) .swagger-ui :is(.model .property.primitive, table.model tr.description) { color: #4a4f5a; }
html:not(.dark-mode) .swagger-ui .download-contents { background: #5b6270; }
html.dark-mode .swagger-ui .opblock .opblock-section-header .btn.cancel { color: #ff8f8f; border-color: currentcolor; }
.dark-mode .swagger-ui :is(table.headers td, .examples-select__section-label, .message) { color: #e4e6e6; }
.swagger-ui .microlight [style*='rgb(211, 99, 99)'] { color: #ff9d9d !important; }

/* Nothing is wider than a phone; only a table of the text scrolls. */
.swagger-ui pre.microlight, .swagger-ui .microlight code { white-space: pre-wrap !important; overflow-wrap: anywhere; }
.swagger-ui .auth-container input { width: 100%; max-width: none; }
.swagger-ui [role='tabpanel'] { overflow-x: auto; }
@media (max-width: 640px) {
  header { padding: 0.5rem; font-size: 0.8125rem; }
  .swagger-ui .wrapper { padding: 0 0.5rem; }
  .swagger-ui .dialog-ux .modal-ux { min-width: 0; width: calc(100% - 1rem); }
  .swagger-ui .info table { display: block; overflow-x: auto; }
  .swagger-ui .info table :is(th, td) { min-width: 0; padding: 0.375rem 0.5rem 0.375rem 0; font-size: 0.75rem; }
  .swagger-ui .opblock td { overflow-wrap: anywhere; }
  .swagger-ui .scheme-container .schemes .servers > label { margin-right: 0; }
  .swagger-ui .live-responses-table .highlight-code pre { padding-bottom: 3rem !important; }
  .swagger-ui .response-controls { flex-direction: column; gap: 0.5rem; }
  .swagger-ui .response-col_links { display: none; }
}
`
}
