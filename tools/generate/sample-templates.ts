// The code samples of a request, one function per language. They are formatted
// as Prettier, black and gofmt format them.
import { STATUS_CODES } from 'node:http'
import { format, resolveConfig } from 'prettier'
import type { SampleRequest } from './sample-request.ts'

/** The columns of a line in samples; black has its own limit. */
const width = 80
const pythonWidth = 88

/** An array or object, without its form in a language. */
interface Container {
  open: string
  close: string
  /** The name of each item with its colon, which is empty in an array. */
  items: [string, unknown][]
}

/** A sample for curl. */
export function shell(request: SampleRequest): string {
  const { method, url, body, hasResponseBody } = request
  const hasBody = body !== undefined
  const impliedMethod = hasBody ? 'POST' : 'GET'

  const curl = present([
    'curl --fail-with-body',
    !hasResponseBody && '-i',
    method !== impliedMethod && `-X ${method}`
  ]).join(' ')
  const isPlain = /^[\w:/.%~-]+$/.test(url)
  const target = isPlain ? url : shellText(url)
  const isShort = `${curl} ${target} \\`.length <= width

  const words = present([
    ...(isShort ? [`${curl} ${target}`] : [curl, target]),
    request.needsApiKey && '-H "Authorization: Bearer $API_KEY"',
    hasBody && "-H 'Content-Type: application/json'",
    request.needsIdempotencyKey &&
      '-H "Idempotency-Key: $(openssl rand -hex 16)"',
    hasBody && `-d ${shellText(onOneLine(body, jsonScalar))}`
  ])

  return `${words.join(' \\\n  ')}\n`
}

/** A sample for `fetch`, formatted like the rest of this repository. */
export async function typescript(request: SampleRequest): Promise<string> {
  const { method, body, hasResponseBody } = request
  const hasBody = body !== undefined
  const url = JSON.stringify(request.url)
  const call = `const response = await fetch(${url}, {`
  const isShort = call.length <= width
  const start = isShort
    ? call
    : `const url = ${url}\nconst response = await fetch(url, {`

  const headers = present([
    request.needsApiKey && 'Authorization: `Bearer ${process.env.API_KEY}`',
    hasBody && "'Content-Type': 'application/json'",
    request.needsIdempotencyKey && "'Idempotency-Key': crypto.randomUUID()"
  ])
  const options = present([
    method !== 'GET' && `method: '${method}'`,
    headers.length > 0 && `headers: { ${headers.join(', ')} }`,
    hasBody && `body: JSON.stringify(${JSON.stringify(body)})`,
    'signal: AbortSignal.timeout(30_000)'
  ])
  const result = hasResponseBody ? 'await response.json()' : 'response.status'

  const source = `${start}
${options.join(',\n')}
})
if (!response.ok) throw new Error(await response.text())

console.log(${result})
`
  const style = await resolveConfig(import.meta.filename)

  return format(source, { ...style, parser: 'typescript' })
}

/** A sample for Requests. */
export function python(request: SampleRequest): string {
  const { method, url, needsApiKey, needsIdempotencyKey, body } = request
  const modules = present([
    needsApiKey && 'import os\n',
    needsIdempotencyKey && 'import uuid\n'
  ])
  const imports = modules.length > 0 ? `${modules.join('')}\n` : ''

  const options = present([
    `    "${url}",`,
    ...pythonHeaders(request),
    body !== undefined && pythonLines('json=', body, 1),
    '    timeout=30,'
  ])
  const result = request.hasResponseBody ? 'json()' : 'status_code'

  return `${imports}import requests

response = requests.${method.toLowerCase()}(
${options.join('\n')}
)
if not response.ok:
    raise requests.HTTPError(response.text)

print(response.${result})
`
}

/** The argument of the headers; Requests adds the Content-Type itself. */
function pythonHeaders(request: SampleRequest): string[] {
  const headers = present([
    request.needsApiKey && `"Authorization": f"Bearer {os.environ['API_KEY']}"`,
    request.needsIdempotencyKey && '"Idempotency-Key": str(uuid.uuid4())'
  ])
  if (headers.length === 0) return []
  if (headers.length === 1) return [`    headers={${headers.join('')}},`]

  const lines = headers.map((header) => `        ${header},`)

  return ['    headers={', ...lines, '    },']
}

/** A sample for net/http. */
export function go(request: SampleRequest): string {
  const { method, url, body } = request
  const hasBody = body !== undefined

  const input = hasBody && goText(onOneLine(body, jsonScalar))
  const variables = present([
    `url := "${url}"`,
    input && `input := strings.NewReader(${input})`
  ])
  const call = `${goMethod(method)}, url, ${input ? 'input' : 'nil'}`
  const result = request.hasResponseBody ? 'string(body)' : 'response.Status'

  return `package main

import (
${goImports(request).join('\n')}
)

func main() {
	${variables.join('\n\t')}
	request, err := http.NewRequest(${call})
	if err != nil {
		log.Fatal(err)
	}
${goHeaders(request).join('')}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()

	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	if response.StatusCode != ${goStatus(request.status)} {
		log.Fatal(string(body))
	}
	fmt.Println(${result})
}
`
}

function goImports(request: SampleRequest): string[] {
  const names = present([
    request.needsIdempotencyKey && 'crypto/rand',
    'fmt',
    'io',
    'log',
    'net/http',
    request.needsApiKey && 'os',
    request.body !== undefined && 'strings',
    'time'
  ])

  return names.map((name) => `\t"${name}"`)
}

function goHeaders(request: SampleRequest): string[] {
  const headers = present([
    request.needsApiKey && '"Authorization", "Bearer "+os.Getenv("API_KEY")',
    request.body !== undefined && '"Content-Type", "application/json"',
    request.needsIdempotencyKey && '"Idempotency-Key", rand.Text()'
  ])

  return headers.map((header) => `\trequest.Header.Set(${header})\n`)
}

/** The constant of a method: `http.MethodGet`. */
function goMethod(method: string): string {
  return `http.Method${method.charAt(0)}${method.slice(1).toLowerCase()}`
}

/** The constant of a status: `http.StatusNoContent`. */
function goStatus(status: number): string {
  const name = String(STATUS_CODES[status])
  return `http.Status${name.replaceAll(/[^A-Za-z]/g, '')}`
}

/** A raw string, which cannot have a backtick. */
function goText(text: string): string {
  return text.includes('`') ? JSON.stringify(text) : `\`${text}\``
}

function shellText(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

const jsonScalar = (value: unknown) => JSON.stringify(value)

function pythonScalar(value: unknown): string {
  switch (value) {
    case true:
      return 'True'
    case false:
      return 'False'
    case null:
      return 'None'
    default:
      return JSON.stringify(value)
  }
}

/** A value as an argument or item, broken where black breaks it. */
function pythonLines(name: string, value: unknown, depth: number): string {
  const indent = '    '.repeat(depth)
  const line = `${indent}${name}${onOneLine(value, pythonScalar)},`
  const container = containerOf(value)
  const isWhole = line.length <= pythonWidth || container === undefined
  if (isWhole || container.items.length === 0) return line

  const { open, close, items } = container

  return [
    `${indent}${name}${open}`,
    ...items.map(([key, item]) => pythonLines(key, item, depth + 1)),
    `${indent}${close},`
  ].join('\n')
}

/** @param scalar how a language writes what is no array or object */
function onOneLine(value: unknown, scalar: (value: unknown) => string): string {
  const container = containerOf(value)
  if (container === undefined) return scalar(value)

  const { open, close, items } = container
  const texts = items.map(([name, item]) => name + onOneLine(item, scalar))

  return open + texts.join(', ') + close
}

/** Undefined for what is no array or object. */
function containerOf(value: unknown): Container | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    const items = value.map((item: unknown): [string, unknown] => ['', item])
    return { open: '[', close: ']', items }
  }

  const items = Object.entries(value).map(
    ([name, item]: [string, unknown]): [string, unknown] => [
      `${JSON.stringify(name)}: `,
      item
    ]
  )

  return { open: '{', close: '}', items }
}

/** What a request has of these lines. */
function present(lines: (string | false)[]): string[] {
  return lines.filter((line) => line !== false)
}
