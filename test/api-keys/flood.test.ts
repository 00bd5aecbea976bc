import t from 'tap'
import { flood } from '../../src/api-keys/flood.ts'
import { recorder } from '../support/log.ts'
import { silent } from '../support/database.ts'

const options = { pace: 20, maxWaiting: 3, maxAddresses: 2 }

t.test('turns come one after the other at the pace, and at once when too many wait', async (t) => {
  const { turn } = flood(silent, options)
  const order: number[] = []
  const turns = Array.from({ length: 4 }, async (_, number) => {
    await turn()
    order.push(number)
  })
  await Promise.all(turns)
  t.same(order, [3, 0, 1, 2])
})

t.test('the summary has a line for each address, and one for all others when there are too many', (t) => {
  const { lines, logger } = recorder()
  const { note, summarise } = flood(logger, options)
  for (const address of ['a', 'b', 'a', 'c', 'd']) note(address)
  summarise()
  t.match(lines, [
    { level: 40, ip: 'a', count: 2 },
    { level: 40, ip: 'b', count: 1 },
    { level: 40, ip: 'others', count: 2 }
  ])
  summarise()
  t.equal(lines.length, 3)
  t.end()
})
