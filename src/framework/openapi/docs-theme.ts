import { readFileSync } from 'node:fs'

/**
 * The color of each environment, so that nobody mistakes one for another. White
 * on it has a contrast of 5.5 or more.
 */
export const environmentColors = {
  development: '#2b5c8a',
  staging: '#8a5a00',
  production: '#9b1c1c'
}

export type Environment = keyof typeof environmentColors

/** Our scripts, in docs/. Each changes one part of the page. */
const scripts = [
  'page.js',
  'accessibility.js',
  'authorize.js',
  'exact-numbers.js',
  'fields.js',
  'filter.js',
  'links.js',
  'operation.js'
]

/** What we add to Swagger UI: the option `theme` of @fastify/swagger-ui. */
export function createTheme(title: string, environment: Environment) {
  const color = environmentColors[environment]

  return {
    title: `${title} · ${environment}`,
    css: [pageStyle(color), style('print.css')],
    js: scripts.map(script),
    favicon: [icon(title.charAt(0), color)]
  }
}

/** Reads a file of docs/. */
export const readDocsFile = (name: string) =>
  readFileSync(new URL(`./docs/${name}`, import.meta.url), 'utf8')

/** A style sheet of docs/, with the color of the environment. */
export const coloredStyle = (filename: string, color: string) =>
  `:root { --environment: ${color}; }\n${readDocsFile(filename)}`

const pageStyle = (color: string) => ({
  filename: 'page.css',
  type: 'text/css; charset=utf-8',
  content: coloredStyle('page.css', color)
})

const style = (filename: string) => ({
  filename,
  type: 'text/css; charset=utf-8',
  content: readDocsFile(filename)
})

const script = (filename: string) => ({
  filename,
  type: 'text/javascript; charset=utf-8',
  content: readDocsFile(filename)
})

const icon = (letter: string, color: string) => ({
  filename: 'icon.svg',
  rel: 'icon',
  sizes: 'any',
  type: 'image/svg+xml',
  content: `
    <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
      <rect width="32" height="32" rx="7" fill="${color}"/>
      <text
        x="16"
        y="24"
        fill="#fff"
        font-family="sans-serif"
        font-size="22"
        text-anchor="middle"
      >${letter}</text>
    </svg>
  `.trim()
})
