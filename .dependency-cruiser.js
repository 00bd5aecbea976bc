// Which file may import which. `npm run check` reports violations.

// From top to bottom. A file imports files of its own layer and of those below
// it. The files that are not listed are the ground: every file may import them,
// and they import no layer.
const layers = [
  'src/main[.]ts|src/commands/|framework/(lifecycle|listen|welcome|background-work)[.]ts',
  'src/app[.]ts',
  'framework/open-database[.]ts',
  'framework/schema[.]ts',
  'src/handlers/',
  'framework/api[.]ts',
  'framework/creates/',
  'framework/lists/',
  'framework/rows/',
  'framework/openapi/',
  'framework/keys/',
  'framework/tracing/(?!spans)',
  'framework/http/',
  'framework/embedded/',
  'framework/postgres/',
  'framework/config'
]

const forbid = (name, from, to) => ({ name, severity: 'error', from, to })

export default {
  forbidden: [
    forbid('no-cycle', {}, { circular: true }),
    ...layers
      .slice(1)
      .map((layer, above) =>
        forbid(
          `layer ${layer}`,
          { path: layer },
          { path: layers.slice(0, above + 1) }
        )
      ),
    forbid('ground', { path: '^src/', pathNot: layers }, { path: layers }),
    // Another API has other handlers.
    forbid(
      'framework-without-handlers',
      {
        path: '^src/',
        pathNot: '^src/(main[.]ts|commands/|handlers/)'
      },
      { path: '^src/handlers/' }
    ),
    forbid(
      'generated-is-for-handlers',
      { path: '^src/', pathNot: '^src/handlers/' },
      { path: '^generated/', pathNot: '^generated/names[.]ts' }
    ),
    forbid(
      'generated-needs-handler-types-only',
      { path: '^generated/' },
      { path: '^src/', pathNot: 'src/framework/openapi/(handler|json)[.]ts' }
    ),
    // A deployment with DATABASE_URL does not load it. Types are not loaded.
    forbid(
      'embedded-only-when-it-runs',
      { path: '^src/', pathNot: '^src/framework/embedded/' },
      {
        path: '^src/framework/embedded/',
        dynamic: false,
        dependencyTypesNot: ['type-only']
      }
    ),
    // A service without traces does not load it. Types are not loaded.
    forbid(
      'tracing-only-when-it-is-on',
      { path: '^src/', pathNot: '^src/framework/tracing/' },
      { path: '^src/framework/tracing/(?!spans[.])', dynamic: false }
    ),
    forbid(
      'opentelemetry-for-tracing-only',
      { path: '^src/', pathNot: '^src/framework/tracing/' },
      { path: '@opentelemetry/', dependencyTypesNot: ['type-only'] }
    ),
    forbid(
      'handlers-without-fastify',
      { path: '^src/handlers/' },
      { path: '/fastify/' }
    ),
    // Only with its statement is the schema of JSON known.
    forbid(
      'handlers-write-no-json',
      { path: '^src/handlers/' },
      { path: 'src/framework/openapi/json[.]ts' }
    ),
    forbid(
      'service-without-tools',
      { path: '^(src|generated)/' },
      { path: '^(test|tools)/' }
    )
  ],
  options: { tsPreCompilationDeps: true, doNotFollow: 'node_modules' }
}
