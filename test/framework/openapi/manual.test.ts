import { pathToFileURL } from 'node:url'
import t from 'tap'
import { manualFiles } from '../../../src/framework/openapi/manual.ts'

t.test('the manual has the programs that its guide links to', (t) => {
  const guide = '## Retry\n\n[How](../tools/go/retry.go)\n'
  const folder = t.testdir({
    docs: { 'clients.md': guide },
    tools: { go: { 'retry.go': 'package main\n' } },
    'CHANGELOG.md': '# Changelog\n\n[x](docs/clients.md#y)\n'
  })
  const files = manualFiles(pathToFileURL(`${folder}/`), 'Pets')
  const texts = Object.fromEntries(files.map(({ path, text }) => [path, text]))
  t.match(texts, {
    '/docs/guide': /<title>Guide · Pets<\/title>[^]*<li><a href="#retry">Retry/,
    '/docs/changelog': /<h1 id="changelog">[^]*<a href="guide#y">x<\/a>/
  })
  t.equal(texts['/docs/guide.md'], guide)
  t.equal(texts['/tools/go/retry.go'], 'package main\n')
  t.equal(files.length, 4)
  t.end()
})
