import { existsSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { makeKey } from '../src/api-keys/key.ts'
import { findService } from '../src/embedded/postgres.ts'
import { createDatabase, query } from './support/database.ts'
import { listed, notOnce } from './support/installation.ts'
import { startLoad } from './support/load.ts'
import { keyPattern, post, serve, started } from './support/process.ts'
import { startService } from './support/service.ts'
import { until } from './support/until.ts'

t.test(
  'the first start prints the docs and a curl with a key, and acknowledged rows survive a kill -9',
  async (t) => {
    const directory = t.testdir()
    const first = serve(t, {}, directory)
    const url = await started(first)
    const [curl, key = ''] = await first.sees(
      /curl \S+ -H 'Authorization: Bearer (petcat_\w+)'/
    )
    t.match(curl, `curl ${url}/v1/categories -H`)
    t.match(first.output(), `Docs    ${url}/docs`)
    const { url: databaseUrl = '' } =
      (await findService(path.join(directory, '.data'))) ?? {}
    const socket = new URL(databaseUrl).searchParams.get('host')

    const load = startLoad(url, key)
    await load.acknowledges(20)
    first.child.kill('SIGKILL')
    t.equal(await first.exited, 'SIGKILL')
    await load.stop()

    const second = serve(t, { HOST: '::' }, directory)
    const [, port = ''] = await second.sees(
      /Docs {4}http:\/\/localhost:(\d+)\/docs/
    )
    await second.sees(/Create a key: npm run keys/)
    t.notMatch(
      second.output(),
      keyPattern,
      'the key is not shown again, and no other is created'
    )
    await until(
      () => !existsSync(socket ?? ''),
      'the folder of the first socket is removed'
    )
    t.same(
      notOnce(load.acknowledged, await listed(`http://127.0.0.1:${port}`, key)),
      []
    )
    t.equal(await second.stop(), 0)
  }
)

t.test(
  'a mistake that prevents the start is reported in one line',
  async (t) => {
    const { databaseUrl: DATABASE_URL, port: taken } = await startService(t)
    const PORT = String(taken)
    const directory = t.testdir({ file: '' })
    const fails = async (env: Record<string, string>, message: RegExp) => {
      const { exited, output } = serve(t, env, directory)
      t.equal(await exited, 1)
      t.match(output(), message)
      t.notMatch(output(), /^ +at /m)
    }
    const withoutCa =
      'postgres://u:secret@db/x?sslmode=verify-full&sslrootcert=/none.pem'
    await Promise.all([
      fails({ PORT: 'x' }, /^pet-categories: PORT must be integer\n$/),
      fails(
        { DATABASE_URL, PORT },
        new RegExp(`^pet-categories: Port ${PORT} is in use: set PORT\n$`)
      ),
      fails(
        { DATABASE_URL, METRICS_PORT: PORT },
        /^pet-categories: Port \d+ is in use: set METRICS_PORT$/m
      ),
      fails(
        { DATABASE_URL, HOST: '192.0.2.1' },
        /^pet-categories: listen EADDRNOTAVAIL.*\n$/
      ),
      fails(
        { DATA_DIR: 'file' },
        /^pet-categories: DATA_DIR cannot be used: EEXIST.*\n$/
      ),
      fails(
        { DATABASE_URL: withoutCa },
        /^pet-categories: DATABASE_URL cannot be used: ENOENT.*none\.pem'\n$/
      )
    ])
  }
)

t.test(
  'the service waits for a database that is not there yet, and logs it in one line without secrets',
  async (t) => {
    const databaseUrl = new URL(await createDatabase(t))
    const later = `${databaseUrl.pathname.slice(1)}_later`
    const url = Object.assign(new URL(databaseUrl), {
      pathname: `/${later}`,
      password: 'secret'
    }).href
    const service = serve(t, { DATABASE_URL: url })
    const address = await started(service)
    const status = async (path: string) => (await fetch(address + path)).status
    await service.sees(/DATABASE_URL cannot be used: .*retrying/)
    t.equal(await status('/readyz'), 503)
    t.equal(await status('/livez'), 200)
    t.equal((await post(address, makeKey(), 'x')).status, 503)

    await query(
      databaseUrl.href,
      `CREATE DATABASE ${later} TEMPLATE template0 ENCODING 'UTF8'`
    )
    t.teardown(() =>
      query(databaseUrl.href, `DROP DATABASE ${later} WITH (FORCE)`)
    )
    await service.sees(/the database is ready/)
    t.equal(await status('/readyz'), 200)
    t.equal(await service.stop(), 0)
    const lines = service.output().match(/^.*retrying.*$/gm) ?? []
    t.equal(lines.length, 1)
    t.notMatch(lines[0], /secret|"stack"/)
  }
)
