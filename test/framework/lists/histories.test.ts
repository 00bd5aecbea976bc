import t from 'tap'
import { startHistory } from '../../support/history.ts'
import { startPostgres } from '../../support/postgres.ts'
import { scale, seed } from '../../support/scale.ts'

// Only commits make transaction ids durable.
const settings = { wal_writer_delay: '10s', autovacuum: 'off' }
const postgres = await startPostgres(t, settings)

t.test(
  `lists show what was acknowledged, through restarts and kills (seed ${seed})`,
  async (t) => {
    const history = await startHistory(t, postgres.url, seed)
    const strikes = [postgres.restart, postgres.killBackend, postgres.crash]

    for (let round = 0; round < scale(20, 1); round++) {
      for (const strike of strikes) {
        await history.commits(10)
        await strike()
      }
      await history.commits(10)
    }

    t.same(await history.stop(), [])

    const codings = ['gzip', 'br', 'identity']
    for (const result of [304, 'ROLLBACK', ...codings])
      t.ok(history.counts[result], `${result}: ${history.counts[result]}`)
  }
)
