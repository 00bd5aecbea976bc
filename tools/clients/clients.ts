/** A generated client, in the folder of this name in `programs/`. */
export interface Client {
  name: string
  /** The file in `retry/` that its program uses. */
  helper: string
  /** The command in docs/clients.md. */
  generate: string
  compile: string
  run: string
}

const typescript = {
  helper: 'retry.ts',
  compile: 'tsc --project .',
  run: 'node --import tsx program.ts'
}
const generate =
  'openapi-generator-cli generate --input-spec openapi.yaml ' +
  '--output client --generator-name'

/**
 * The clients that are tested for each change. All programs do the same and
 * print the same.
 */
export const clients: Client[] = [
  {
    ...typescript,
    name: 'openapi-fetch',
    generate:
      'openapi-typescript openapi.yaml --output client/schema.ts ' +
      '--default-non-nullable=false'
  },
  {
    ...typescript,
    name: 'orval',
    generate: 'orval --config orval.config.ts'
  },
  {
    name: 'openapi-python-client',
    helper: 'retry.py',
    generate:
      'openapi-python-client generate --path openapi.yaml --meta none ' +
      '--output-path client',
    compile: 'mypy --strict --follow-imports silent program.py',
    run: 'python program.py'
  },
  {
    name: 'oapi-codegen',
    helper: 'retry.go',
    generate:
      'mkdir client && go tool oapi-codegen -config config.yaml openapi.yaml',
    compile: 'go vet . && go build -buildvcs=false -o program .',
    run: './program'
  }
]

/** Those that take minutes, and need Maven, a JDK and Cargo. */
export const slowClients: Client[] = [
  {
    name: 'openapi-generator-java',
    helper: 'Retry.java',
    generate: `${generate} java`,
    compile:
      'mvn --quiet --batch-mode --file client compile ' +
      'dependency:build-classpath -Dmdep.outputFile=classpath && ' +
      'javac -cp client/target/classes:$(cat client/classpath) *.java',
    run: 'java -cp .:client/target/classes:$(cat client/classpath) Program'
  },
  {
    name: 'openapi-generator-rust',
    helper: 'retry.rs',
    generate: `${generate} rust`,
    compile: 'cargo build --quiet',
    run: 'cargo run --quiet'
  }
]
