// Runs the commands of the models in this folder, and each of their mutants.
// Exits 1 if a check finds a counterexample, an example is impossible, or a
// mutant survives. Takes the names of commands and mutants to run them alone,
// and prints the trace of each that has one.
import { spawnSync } from 'node:child_process'
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const models = ['changes.als', 'claims.als']

const folder = import.meta.dirname
const alloy = path.join(folder, '.alloy/alloy.jar')

/** A SAT solver in Alloy's jar; `sat4j` is slower, and runs everywhere. */
const solver = process.env['SOLVER'] ?? 'glucose'

/** Milliseconds for one command. */
const timeout = 600_000

/** A run of one command of Alloy. */
interface Trial {
  name: string
  model: string
  command: string
  /** Whether it must have an instance: a counterexample or an example. */
  expected: boolean
}

/** The checks and examples of a model. */
function commandsOf(model: string): Trial[] {
  const commands = model.matchAll(/^(check|run) (\w+)/gm)

  return Array.from(commands, ([, kind, command = '']) => ({
    name: command,
    model,
    command,
    expected: kind === 'run'
  }))
}

/** The mutants of a model: each replaces the first line above that is none. */
function mutantsOf(model: string): Trial[] {
  const [firstCheck] = commandsOf(model)
  const lines = model.split('\n')
  const mutants: Trial[] = []
  let original = 0

  lines.forEach((line, index) => {
    const mutant = /^ *-- mutant ([\w-]+)(?: \((\w+)\))?: (.*)$/.exec(line)

    if (mutant === null) {
      original = index
      return
    }

    const [, name = '', check, replacement = ''] = mutant
    mutants.push({
      name,
      model: lines.with(original, replacement).join('\n'),
      command: check ?? String(firstCheck?.command),
      expected: true
    })
  })

  return mutants
}

interface Result {
  hasInstance: boolean
  /** The states of the instance, as Alloy writes them. */
  trace: string
}

/** @throws Error if Alloy rejects the model, or has not ended in time */
function runAlloy({ model, command }: Trial): Result {
  const work = mkdtempSync(path.join(tmpdir(), 'petcat-model-'))
  const file = path.join(work, 'model.als')
  const output = path.join(work, 'output')

  try {
    writeFileSync(file, model)

    const { stdout, stderr } = spawnSync(
      'java',
      [
        ...['-jar', alloy, 'exec', '--solver', solver],
        ...['--command', command, '--type', 'text', '--output', output, file]
      ],
      { encoding: 'utf8', timeout }
    )
    const result = /\b(UNSAT|SAT)\b/.exec(stdout + stderr)
    if (result === null) throw new Error(`${command}: ${stdout}${stderr}`)

    return { hasInstance: result[0] === 'SAT', trace: traceIn(output) }
  } finally {
    rmSync(work, { recursive: true })
  }
}

function traceIn(output: string): string {
  return readdirSync(output)
    .filter((name) => !name.endsWith('.json'))
    .map((name) => readFileSync(path.join(output, name), 'utf8'))
    .join('')
}

/** Of each state of a trace, what is different from the state before. */
function changesIn(trace: string): string {
  const values = new Map<string, string>()
  const isOfModel = /^(------State|this\/|skolem)/

  const changed = trace.split('\n').filter((line) => {
    const [name = '', value = ''] = line.split('={')
    const hasChanged = values.get(name) !== value
    values.set(name, value)
    return isOfModel.test(line) && hasChanged
  })

  return changed.join('\n')
}

/** Runs a command or mutant, and returns whether its result is as expected. */
function passes(trial: Trial, printsTrace: boolean): boolean {
  const start = performance.now()
  const { hasInstance, trace } = runAlloy(trial)
  const seconds = ((performance.now() - start) / 1000).toFixed(0)
  const isExpected = hasInstance === trial.expected

  const verdict = isExpected ? 'ok  ' : 'FAIL'
  const result = hasInstance ? 'an instance' : 'no instance'
  console.log(
    `${verdict} ${trial.name}: ${result} of ${trial.command}, ${seconds} s`
  )
  if (printsTrace || !isExpected) console.log(changesIn(trace))

  return isExpected
}

const trials = models.flatMap((file) => {
  const model = readFileSync(path.join(folder, file), 'utf8')
  return [...commandsOf(model), ...mutantsOf(model)]
})
const names = process.argv.slice(2)
const isChosen = ({ name }: Trial) => names.includes(name)
const chosen = names.length === 0 ? trials : trials.filter(isChosen)

if (chosen.length === 0 || chosen.length < names.length)
  throw new Error(`no such command or mutant: ${names.join(', ')}`)

const failed = chosen.filter((trial) => !passes(trial, names.length > 0))

if (failed.length > 0) {
  console.error(`Failed: ${failed.map(({ name }) => name).join(', ')}`)
  process.exitCode = 1
}
