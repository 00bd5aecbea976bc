// The tables of docs/configuration.md, from src/framework/variables.ts.
import {
  commonVariables,
  descriptionOf,
  rarelyNeededVariables,
  type Variable
} from '../../src/framework/variables.ts'
import { tableOf, withSection } from './markdown.ts'

type Group = Record<string, Variable>

/** docs/configuration.md with the tables of the variables. */
export async function configurationPage(page: string): Promise<string> {
  const common = variablesTable(commonVariables)
  const half = await withSection(page, 'common variables', common)
  const rarelyNeeded = variablesTable(rarelyNeededVariables)
  return withSection(half, 'rarely needed variables', rarelyNeeded)
}

function variablesTable(group: Group): string {
  const rows = Object.entries(group).map(([name, variable]) => {
    const { default: value } = variable
    const shown = value === undefined ? '' : `\`${value}\``
    return [`\`${name}\``, shown, descriptionOf(variable)]
  })

  return tableOf(['Variable', 'Default', 'Meaning'], rows)
}
