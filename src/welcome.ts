import type { AddressInfo } from 'node:net'
import type { Contract } from './openapi/document.ts'

/** What a start on the embedded database shows: the docs, and a curl to paste, with the key if one was made. */
export function welcome(
  { address, family, port }: AddressInfo,
  { basePath, operations }: Contract,
  key: string | undefined
): string {
  const isAny = address === '0.0.0.0' || address === '::'
  const host = isAny ? 'localhost' : family === 'IPv6' ? `[${address}]` : address
  const list = operations.find(({ id }) => id === 'listCategories')?.path
  const make = 'npm run keys -- create --name NAME'
  return `
  Docs    http://${host}:${port}/docs
  Try it  curl http://${host}:${port}${basePath}${list} -H 'Authorization: Bearer ${key ?? '<API_KEY>'}'

  ${key === undefined ? 'Make a key' : 'This key is shown once. Make another'}: ${make}
`
}
