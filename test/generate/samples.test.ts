import t from 'tap'
import { sampleProblems, samplesFile } from '../../tools/generate/samples.ts'

const ids = ['listPets', 'createPet']

t.test('each operation needs a sample in each language, and no other', (t) => {
  const folder = t.testdir({
    'listPets.sh': 'curl …',
    'listDogs.go': '',
    'listPets.rb': ''
  })

  t.same(JSON.parse(samplesFile(folder, ids)), {
    listPets: [{ lang: 'Shell', label: 'curl', source: 'curl …' }]
  })
  t.same(
    sampleProblems(folder, ids),
    [
      'listPets.go is missing: write it by hand',
      'createPet.sh is missing: write it by hand',
      'createPet.go is missing: write it by hand',
      'listDogs.go belongs to no operation or language',
      'listPets.rb belongs to no operation or language'
    ].map((problem) => `${folder}/${problem}`)
  )
  t.end()
})

t.test('an API may have no samples', (t) => {
  const folder = `${t.testdir()}/none`
  t.same(sampleProblems(folder, ids), [])
  t.equal(samplesFile(folder, ids), '{}\n')
  t.end()
})
