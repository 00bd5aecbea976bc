// Mistakes on the command line.
import t from 'tap'
import { createDatabase } from '../../support/database.ts'
import { call } from '../../support/process.ts'
import {
  inParallel,
  type Mistake,
  saysOnly,
  unknownPort,
  unreachable
} from './assertions.ts'

/** A command line, and the line that it leads to. */
interface CommandMistake extends Mistake {
  command: string
}

const cannotConnect =
  /^DATABASE_URL cannot be used: .*ECONNREFUSED 127\.0\.0\.1:1: correct its host or port, or start PostgreSQL there$/

const mistakesOfCommands: CommandMistake[] = [
  {
    title: 'keys of a database that cannot be reached',
    command: 'npm run -s keys list',
    env: unreachable,
    says: cannotConnect
  },
  {
    title: 'a migration of a database that cannot be reached',
    command: 'npm run -s migrate',
    env: unreachable,
    says: cannotConnect
  },
  {
    title: 'a command is misspelt',
    command: 'npm run -s keys -- creat',
    says: "error: unknown command 'creat' (Did you mean create?)"
  },
  {
    title: 'an option is missing',
    command: 'npm run -s keys -- create',
    says: "error: required option '--name <name>' not specified"
  },
  {
    title: 'a lifetime has an unknown unit',
    command: 'npm run -s keys -- create --name x --expires 1y',
    says: /argument '1y' is invalid. Write it as 30m, 24h or 90d.$/
  },
  {
    title: 'a key does not exist',
    command: 'npm run -s keys -- revoke 99',
    says: 'Key 99 is not valid; see: keys list'
  },
  {
    title: 'npm takes the options of keys',
    command: 'npm run -s keys create --name x',
    says: 'npm took --name for its own option: write -- before the command, as in npm run keys -- create --name NAME'
  },
  {
    title: 'the port is an argument',
    command: 'npm start -s -- --port 4000',
    says: unknownPort
  },
  {
    title: 'npm takes the port',
    command: 'npm start -s --port=4000',
    says: unknownPort
  }
]

t.test('a mistake on the command line', async (t) => {
  const DATABASE_URL = await createDatabase(t)
  t.jobs = 4
  // npm writes its own warnings to stderr, about its next major version.
  const quiet = { npm_config_loglevel: 'silent', PORT: '0' }

  for (const { title, command, env, says } of mistakesOfCommands) {
    t.test(title, inParallel, async (t) => {
      const { code, output } = await call(t, command.split(' '), {
        env: { DATABASE_URL, ...quiet, ...env }
      })

      t.equal(code, 1)
      saysOnly(t, output, says)
    })
  }
})
