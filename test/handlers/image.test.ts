// The labels of the image, which registries show.
import { readFileSync } from 'node:fs'
import t from 'tap'
import { document } from '../support/examples.ts'

/** The first steps, which are not a subject of the API. */
const introduction = 'Quickstart'

function labelOf(name: string): string {
  const dockerfile = readFileSync('Dockerfile', 'utf8')
  const pattern = new RegExp(`org\\.opencontainers\\.image\\.${name}="(.+)"`)
  const [, value = ''] = pattern.exec(dockerfile) ?? []

  return value
}

t.test('the image is labelled with the API that it serves', (t) => {
  const tags = document.tags ?? []
  const subjects = tags.filter(({ name }) => name !== introduction)
  const description = labelOf('description').toLowerCase()

  t.equal(labelOf('title'), document.info.title)
  t.ok(subjects.length > 0)
  for (const { name } of subjects) t.match(description, name.toLowerCase())
  t.end()
})
