import { readFileSync } from 'node:fs'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import type { Contract } from './document.ts'

/** The color of each environment, so that nobody mistakes one for another. White on it has a contrast of 5.5 or more. */
const colors = {
  development: '#2b5c8a',
  staging: '#8a5a00',
  production: '#9b1c1c'
}

/** Only scripts, styles, images and connections of this origin. No upgrade to HTTPS, which a local deployment lacks. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const read = (name: string) =>
  readFileSync(new URL(`./docs/${name}`, import.meta.url), 'utf8')

/** Swagger UI at /docs, changed by the files in docs/; openapi.yaml byte for byte, and as JSON at /openapi.json. */
export async function docs(
  app: FastifyInstance,
  contract: Contract,
  environment: keyof typeof colors
) {
  const { title } = contract.document.info
  const color = colors[environment]
  const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
<rect width="32" height="32" rx="7" fill="${color}"/>
<text x="16" y="24" fill="#fff" font-family="sans-serif" font-size="22" text-anchor="middle">${title.charAt(0)}</text>
</svg>`
  app.get('/', (_request, reply) => reply.redirect('docs'))
  app.get('/openapi.yaml', (_request, reply) =>
    reply.type('application/yaml; charset=utf-8').send(contract.yaml)
  )
  app.get('/openapi.json', (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(contract.json)
  )
  await app.register(swagger, {
    mode: 'static',
    specification: { document: contract.document }
  })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: policy,
    // showExtensions shows the dates of a deprecation.
    uiConfig: {
      persistAuthorization: true,
      displayRequestDuration: true,
      showExtensions: true
    },
    theme: {
      title: `${title} · ${environment}`,
      css: [
        {
          filename: 'page.css',
          content: `:root { --environment: ${color}; }\n${read('page.css')}`
        }
      ],
      js: ['page.js', 'operation.js'].map((filename) => ({
        filename,
        content: read(filename)
      })),
      favicon: [
        {
          filename: 'icon.svg',
          rel: 'icon',
          sizes: 'any',
          type: 'image/svg+xml',
          content: icon
        }
      ]
    }
  })
}
