export type Environment = 'development' | 'staging' | 'production'

/** White on each of them has a contrast of at least 5.5 to 1. */
export const colours: Record<Environment, string> = {
  development: '#2b5c8a',
  staging: '#8a5a00',
  production: '#9b1c1c'
}

/** The files that the page loads from `theme/`, beside those of Swagger UI. */
export const files = { icon: 'icon.svg', style: 'page.css', script: 'page.js' }

/** The docs page of an environment; `path` leads to Swagger UI's files. */
export function html(environment: Environment, path: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Pet Categories · ${environment}</title>
<link rel="icon" type="image/svg+xml" href="${path}/theme/${files.icon}">
<link rel="stylesheet" href="${path}/swagger-ui.css">
<link rel="stylesheet" href="${path}/theme/${files.style}">
<script src="${path}/theme/${files.script}"></script>
</head>
<body>
<header>
<span>Pet Categories · <strong>${environment}</strong></span>
<nav aria-label="Document">OpenAPI
<a href="/openapi.yaml">YAML</a>
<a href="/openapi.json">JSON</a>
</nav>
</header>
<noscript>This page needs JavaScript. The document itself does not: see YAML and JSON above.</noscript>
<div id="swagger-ui"></div>
<script src="${path}/swagger-ui-bundle.js"></script>
<script src="${path}/swagger-ui-standalone-preset.js"></script>
<script src="${path}/swagger-initializer.js"></script>
</body>
</html>
`
}

/** A paw in the colour of the environment. */
export function icon(environment: Environment): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="${colours[environment]}"/>
<g fill="#fff">
<ellipse cx="7.5" cy="15" rx="2.6" ry="3.6"/>
<ellipse cx="13" cy="9" rx="2.7" ry="3.9"/>
<ellipse cx="19" cy="9" rx="2.7" ry="3.9"/>
<ellipse cx="24.5" cy="15" rx="2.6" ry="3.6"/>
<path d="M16 14.5c3.6 0 7 4.2 7 7.6 0 2.3-1.7 3.4-3.6 3.4-1.4 0-2.2-.7-3.4-.7s-2 .7-3.4.7c-1.9 0-3.6-1.1-3.6-3.4 0-3.4 3.4-7.6 7-7.6z"/>
</g>
</svg>
`
}
