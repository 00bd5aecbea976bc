import { readFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import {
  readApiDocument,
  reportStaleCode
} from '../../../src/framework/openapi/document.ts'
import { api } from '../../../src/handlers/index.ts'

/** What is logged when the document becomes this, without npm run generate. */
function reportsOf(yaml: string): string[] {
  const file = path.join(t.testdir({ 'openapi.yaml': yaml }), 'openapi.yaml')
  const reports: string[] = []
  const log = { warn: (message: string) => reports.push(message) }
  reportStaleCode(api.documentDigest, readApiDocument(file), log)
  return reports
}

const yaml = readFileSync(api.openapi, 'utf8')

t.test('a document that changes after npm run generate is logged', (t) => {
  t.same(reportsOf(yaml.replace('maxLength: 255', 'maxLength: 254')), [
    'the OpenAPI document has changed: run `npm run generate`'
  ])
  t.same(reportsOf(yaml), [])
  t.same(reportsOf(`${yaml}# A comment\n`), [])
  t.end()
})
