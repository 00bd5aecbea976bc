#!/usr/bin/env node
// `npm run migrate`, or `pet-categories-migrate` in the image: applies the
// pending migrations to the database of the configuration, as its owner.
import { parseArgs } from 'node:util'
import { loadConfig } from '../config.ts'
import { exitWithError } from '../exit-with-error.ts'
import { createLogger } from '../log.ts'
import { applyMigrations } from '../postgres/migrations.ts'

async function main(): Promise<void> {
  // It has no options: parseArgs rejects any argument.
  parseArgs({ options: {} })
  const { DATABASE_URL, LOG_LEVEL } = loadConfig(process.env)
  await applyMigrations(DATABASE_URL, createLogger(LOG_LEVEL))
  console.log('The database is up to date.')
}

await main().catch(exitWithError)
