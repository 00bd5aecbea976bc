import { readFile } from 'node:fs/promises'
import { getLineColLocation, lint, loadConfig } from '@redocly/openapi-core'
import spectralCore, { type RulesetFunction } from '@stoplight/spectral-core'
import spectralFunctions from '@stoplight/spectral-functions'
import spectralParsers from '@stoplight/spectral-parsers'
import spectralRulesets from '@stoplight/spectral-rulesets'
import { readAsService } from './service.ts'

/** What a linter found in a document. */
export interface Finding {
  /** File, line and column. */
  place: string
  rule: string
  message: string
}

/** What Redocly, by redocly.yaml, Spectral's spectral:oas and the service itself find in a document, at any severity. */
export async function lintDocument(file: string): Promise<Finding[]> {
  const findings = readAsService(file)
  try {
    return [...(await redocly(file)), ...(await spectral(file)), ...findings]
  } catch (error) {
    // The linters throw for text that is not YAML, which the service reports in one line.
    if (findings.length === 0) throw error
    return findings
  }
}

async function redocly(file: string): Promise<Finding[]> {
  const problems = await lint({ ref: file, config: await loadConfig({ configPath: 'redocly.yaml' }) })
  return problems.map(({ location: [location], ruleId, message }) => {
    const { line, col } = location === undefined ? { line: 1, col: 1 } : getLineColLocation(location).start
    return { place: `${file}:${line}:${col}`, rule: ruleId, message }
  })
}

/** What Redocly's assertions cannot say: it does not tell a schema of a request from one of a response. */
const ownRules = {
  // What a client sends has an end.
  'request-strings-bounded': requestRule(`@.type === 'string' && !@.enum && !@.format`, 'maxLength'),
  'request-arrays-bounded': requestRule(`@.type === 'array'`, 'maxItems'),
  'request-objects-closed': requestRule(`@.type === 'object' && @.properties`, 'additionalProperties'),
  'parameters-bounded': {
    ...rule(
      `$.paths..parameters[?(@ && @.in !== 'header' && @.schema && @.schema.type === 'string')].schema`,
      'maxLength'
    ),
    message: 'A string in a path or query must have maxLength'
  },
  'error-has-body': {
    ...rule(`$.paths[*][*].responses[?(@property >= '400')]`, 'content'),
    message: 'An error must have the Error body'
  },
  'get-has-no-body': {
    ...rule('$.paths[*][get,head]', 'requestBody', spectralFunctions.undefined),
    message: 'The body of a GET has no meaning (RFC 9110, 9.3.1)'
  },
  'operation-needs-key': {
    message: 'An operation must not be open',
    severity: 'error' as const,
    given: '$.paths[*][*].security',
    then: {
      function: spectralFunctions.schema as RulesetFunction,
      functionOptions: { schema: { minItems: 1, items: { minProperties: 1 } } }
    }
  },
  'property-described': {
    ...rule('$.components.schemas[*].properties[?(@ && !@.$ref)]', 'description'),
    message: '{{path}} must have a description'
  }
}

/** A rule that what the JSONPath finds has the field, or as another function of Spectral's asks. */
function rule(given: string, field: string, check: unknown = spectralFunctions.defined) {
  return { severity: 'error' as const, given, then: { field, function: check as RulesetFunction } }
}

/** A rule that the schemas of a request body, those of the JSONPath condition, have the field. */
function requestRule(schemas: string, field: string) {
  return {
    ...rule(`$.paths[*][*].requestBody.content..[?(@ && ${schemas})]`, field),
    message: `{{path}} must have ${field}`
  }
}

async function spectral(file: string): Promise<Finding[]> {
  const linter = new spectralCore.Spectral()
  linter.setRuleset(new spectralCore.Ruleset({ extends: [[spectralRulesets.oas, 'all']], rules: ownRules }))
  const document = new spectralCore.Document(await readFile(file, 'utf8'), spectralParsers.Yaml, file)
  const results = await linter.run(document)
  return results.map(({ range: { start }, code, message }) => ({
    place: `${file}:${start.line + 1}:${start.character + 1}`,
    rule: String(code),
    message
  }))
}
