/** A generated client, in the folder of this name in `programs/`. */
export interface Client {
  name: string
  /** The command in docs/clients.md. */
  generate: string
  compile: string
  run: string
}

const typescript = {
  compile: 'tsc --project .',
  run: 'node --import tsx program.ts'
}
/** All programs do the same and print the same. */
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
    generate:
      'openapi-python-client generate --path openapi.yaml --meta none ' +
      '--output-path client',
    compile: 'mypy --strict --follow-imports silent program.py',
    run: 'python program.py'
  },
  {
    name: 'oapi-codegen',
    generate:
      'mkdir client && go tool oapi-codegen -config config.yaml openapi.yaml',
    compile: 'go vet . && go build -buildvcs=false -o program .',
    run: './program'
  }
]
