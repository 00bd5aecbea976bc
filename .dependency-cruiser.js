// Which file may import which. `npm run check` reports violations.

// From top to bottom. A file imports files of its own layer and of those below
// it. The files that are not listed are the ground: every file may import them,
// and they import no layer.
const layers = [
  'src/(main|lifecycle|listen|welcome|background-work)[.]ts|src/commands/',
  'src/app[.]ts',
  'src/open-database[.]ts',
  'src/schema[.]ts',
  'src/resources/',
  'src/api[.]ts',
  'src/creates/',
  'src/lists/',
  'src/rows/',
  'src/openapi/',
  'src/api-keys/',
  'src/tracing/',
  'src/http/',
  'src/embedded/',
  'src/postgres/',
  'src/config'
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
    // Another API has other resources.
    forbid(
      'framework-without-resources',
      {
        path: '^src/',
        pathNot: '^src/(main[.]ts|commands/|resources/)'
      },
      { path: '^src/resources/' }
    ),
    forbid(
      'generated-is-for-resources',
      { path: '^src/', pathNot: '^src/resources/' },
      { path: '^generated/', pathNot: '^generated/names[.]ts' }
    ),
    forbid(
      'generated-needs-handler-types-only',
      { path: '^generated/' },
      { path: '^src/', pathNot: 'src/openapi/(handler|json)[.]ts' }
    ),
    // A deployment with DATABASE_URL does not load it. Types are not loaded.
    forbid(
      'embedded-only-when-it-runs',
      { path: '^src/', pathNot: '^src/embedded/' },
      {
        path: '^src/embedded/',
        dynamic: false,
        dependencyTypesNot: ['type-only']
      }
    ),
    // A service without traces does not load it. Types are not loaded.
    forbid(
      'tracing-only-when-it-is-on',
      { path: '^src/', pathNot: '^src/tracing/' },
      { path: '^src/tracing/', dynamic: false }
    ),
    forbid(
      'opentelemetry-for-tracing-only',
      { path: '^src/', pathNot: '^src/tracing/' },
      { path: '@opentelemetry/', dependencyTypesNot: ['type-only'] }
    ),
    forbid(
      'resources-without-fastify',
      { path: '^src/resources/' },
      { path: '/fastify/' }
    ),
    // Only with its statement is the schema of JSON known.
    forbid(
      'resources-write-no-json',
      { path: '^src/resources/' },
      { path: 'src/openapi/json[.]ts' }
    ),
    forbid(
      'service-without-tools',
      { path: '^(src|generated)/' },
      { path: '^(test|tools)/' }
    )
  ],
  options: { tsPreCompilationDeps: true, doNotFollow: 'node_modules' }
}
