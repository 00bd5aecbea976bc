// The tables of docs/configuration.md, from src/framework/variables.ts.
import { format } from 'prettier'
import {
  commonVariables,
  descriptionOf,
  rarelyNeededVariables,
  type Variable
} from '../../src/framework/variables.ts'

type Group = Record<string, Variable>

/** docs/configuration.md with the tables of the variables. */
export async function configurationPage(page: string): Promise<string> {
  const half = await withTable(page, 'common variables', commonVariables)
  return withTable(half, 'rarely needed variables', rarelyNeededVariables)
}

/**
 * The page with a table of the variables between the comments
 * `<!-- NAME: … -->` and `<!-- end of NAME -->`.
 */
async function withTable(page: string, name: string, group: Group) {
  const section = new RegExp(
    `(<!-- ${name}: .* -->\n)[^]*?(<!-- end of ${name} -->)`
  )
  const table = await format(variablesTable(group), { parser: 'markdown' })

  return page.replace(
    section,
    (_all, start: string, end: string) => `${start}\n${table}\n${end}`
  )
}

function variablesTable(group: Group): string {
  const rows = Object.entries(group).map(([name, variable]) => {
    const { default: value } = variable
    const shown = value === undefined ? '' : `\`${value}\``
    return `| \`${name}\` | ${shown} | ${descriptionOf(variable)} |`
  })

  return ['| Variable | Default | Meaning |', '| - | - | - |', ...rows].join(
    '\n'
  )
}
