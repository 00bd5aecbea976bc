// Which file may import which. `npm run check` reports violations.

const forbid = (name, from, to) => ({ name, severity: 'error', from, to })

/** Types are not loaded. */
const loaded = { dynamic: false, dependencyTypesNot: ['type-only'] }

export default {
  forbidden: [
    forbid('no-cycle', {}, { circular: true }),
    // Another API has other handlers, other generated code and other plugins.
    forbid(
      'framework-knows-no-api',
      { path: '^src/framework/' },
      { path: '^(src/(main|service|app|handlers|commands)|generated)' }
    ),
    forbid(
      'app-knows-no-api',
      { path: '^src/app[.]ts' },
      { path: '^(src/(main|service|handlers|commands)|generated)' }
    ),
    forbid(
      'generated-is-for-handlers',
      { path: '^src/', pathNot: '^src/handlers/' },
      { path: '^generated/' }
    ),
    forbid(
      'generated-needs-handler-types-only',
      { path: '^generated/' },
      {
        path: '^src/',
        pathNot: 'src/framework/openapi/(handler|json|not-implemented)[.]ts'
      }
    ),
    // A deployment with DATABASE_URL does not load it.
    forbid(
      'embedded-only-when-it-runs',
      { path: '^src/', pathNot: '^src/framework/embedded/' },
      { path: '^src/framework/embedded/', ...loaded }
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
      { path: 'src/framework/openapi/json[.]ts', ...loaded }
    ),
    forbid(
      'service-without-tools',
      { path: '^(src|generated)/' },
      { path: '^(test|tools)/' }
    )
  ],
  options: { tsPreCompilationDeps: true, doNotFollow: 'node_modules' }
}
