// The files that `npm run generate` writes from
// src/framework/variables.ts.
import {
  commonVariables,
  meaningOf,
  rarelyNeededVariables,
  type Variable
} from '../../src/framework/variables.ts'
import { formatMarkdown, tableOf } from './markdown.ts'

type Group = Record<string, Variable>

/** The default as text; empty if there is none. */
const defaultOf = ({ default: value }: Variable): string =>
  value === undefined ? '' : String(value)

/** Every variable as a comment, to copy to .env. */
export function envExample(): string {
  return `# Copy to .env and uncomment what you change: see docs/configuration.md.
# Generated from src/framework/variables.ts by \`npm run generate\`. Do not edit.
${exampleOf('Common', commonVariables)}
${exampleOf('Rarely needed', rarelyNeededVariables)}`
}

function exampleOf(title: string, group: Group): string {
  const entries = Object.entries(group).map(
    ([name, variable]) =>
      `# ${meaningOf(variable)}\n# ${name}=${defaultOf(variable)}\n`
  )

  return `\n# ---- ${title} ----\n\n${entries.join('\n')}`
}

/** docs/configuration.md */
export function configurationPage(): Promise<string> {
  const page = `<!-- Generated from src/framework/variables.ts by \`npm run generate\`. Do not edit. -->

# Configuration

Set variables in the environment, or in a file \`.env\` in the folder where the
service starts ([template](../.env.example)). The environment takes precedence.
An empty variable counts as unset. The file is UTF-8 and has a line \`NAME=value\`
for each variable.

- The end of a name is its unit: \`_MS\` milliseconds, \`_BYTES\` bytes, \`_HOURS\`
  hours.
- A wrong value stops the start with a line that names the variable and what it
  must be.
- An unknown name in \`.env\` is reported on stderr and ignored.
- In \`DATABASE_URL\`, percent-encode special characters of the password. The
  modes of TLS are \`sslmode=verify-full\`, \`no-verify\` and \`disable\`:
  node-postgres takes any other mode for \`verify-full\`.

The commands \`npm run migrate\`, \`npm run keys\` and \`npm run seed\` read the
same variables.

## Common

${variablesTable(commonVariables)}

## Rarely needed

A proxy or an orchestrator also limits most of these.

${variablesTable(rarelyNeededVariables)}
`

  return formatMarkdown(page)
}

function variablesTable(group: Group): string {
  const rows = Object.entries(group).map(([name, variable]) => {
    const value = defaultOf(variable)
    const cell = value === '' ? '' : `\`${value}\``
    return [`\`${name}\``, cell, meaningOf(variable)]
  })

  return tableOf(['Variable', 'Default', 'Meaning'], rows)
}
