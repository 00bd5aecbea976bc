import { randomUUID } from 'node:crypto'
import t from 'tap'
import { query } from '../support/database.ts'
import { startPostgres } from '../support/postgres.ts'
import { serve, started } from '../support/process.ts'
import { Creates, createUntilStored } from '../support/resend.ts'
import { randomizer, scale, seed } from '../support/scale.ts'
import { createKeyIn } from '../support/service.ts'
import { until } from '../support/until.ts'

const kills = scale(100, 8)

t.test(
  `clients that send every failed create again store it once, through ${kills} kills (seed ${seed})`,
  async (t) => {
    const [strikes, clients] = [randomizer(seed), randomizer(seed + 1)]
    const postgres = await startPostgres(t, { fsync: 'off' })
    const key = await createKeyIn(postgres.url)
    const directory = t.testdir()
    const startReplica = async () => {
      const replica = serve(t, { DATABASE_URL: postgres.url, RATE_LIMIT_MAX: '0' }, directory)
      return { ...replica, url: await started(replica), key }
    }
    const replicas = [await startReplica(), await startReplica()]
    const creates = new Creates()
    const failures: Record<string, number> = {}
    let isStopped = false

    async function work() {
      while (!isStopped) {
        const name = randomUUID()
        const create = async () =>
          creates.record(name, await createUntilStored(() => clients.pick(replicas), name, name, failures))
        // A client that does not wait for its first response, and one that sends the request again after it.
        if (clients.random(4) === 0) await Promise.all([create(), create()])
        else await create()
        if (clients.random(4) === 0) await create()
      }
    }
    const working = Promise.all(Array.from({ length: 16 }, work))
    const stores = (count: number) => {
      const enough = creates.size + count
      return until(() => creates.size >= enough, `${count} more creates are stored`)
    }

    const kinds = {
      async replica() {
        const index = strikes.random(2)
        replicas[index]?.child.kill('SIGKILL')
        await replicas[index]?.exited
        replicas[index] = await startReplica()
      },
      backend: postgres.killBackend,
      async postgres() {
        await postgres.kill()
        await postgres.start()
      },
      restart: postgres.restart
    }
    const all = Object.values(kinds)
    // Each kind the same number of times, at moments that depend on the seed.
    for (let done = 0; done < kills; done++) {
      await stores(1 + strikes.random(100))
      await all[done % all.length]?.()
    }
    await stores(20)
    isStopped = true
    await working
    t.same(creates.check(await query(postgres.url, 'SELECT id, name FROM categories')), [])
    t.comment(`${creates.size} creates, sent again after ${JSON.stringify(failures)}`)
    t.ok(failures['lost'] && failures['unavailable'], 'replicas and PostgreSQL were away')
  }
)
