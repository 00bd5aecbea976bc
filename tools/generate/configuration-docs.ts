// The files that `npm run generate` writes from
// src/framework/variables.ts.
import {
  commonVariables,
  descriptionOf,
  rarelyNeededVariables,
  type Variable
} from '../../src/framework/variables.ts'
import { tableOf, withSection } from './markdown.ts'

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
      `# ${descriptionOf(variable)}\n# ${name}=${defaultOf(variable)}\n`
  )

  return `\n# ---- ${title} ----\n\n${entries.join('\n')}`
}

/** docs/configuration.md with the tables of the variables. */
export async function configurationPage(page: string): Promise<string> {
  const common = variablesTable(commonVariables)
  const half = await withSection(page, 'common variables', common)
  const rarelyNeeded = variablesTable(rarelyNeededVariables)
  return withSection(half, 'rarely needed variables', rarelyNeeded)
}

function variablesTable(group: Group): string {
  const rows = Object.entries(group).map(([name, variable]) => {
    const value = defaultOf(variable)
    const shown = value && `\`${value}\``
    return [`\`${name}\``, shown, descriptionOf(variable)]
  })

  return tableOf(['Variable', 'Default', 'Meaning'], rows)
}
