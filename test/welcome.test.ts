import t from 'tap'
import { readContract } from '../src/openapi/document.ts'
import { welcome } from '../src/welcome.ts'

const show = (address: string, key?: string) =>
  welcome({ address, family: address.includes(':') ? 'IPv6' : 'IPv4', port: 3000 }, readContract(), key)

t.test('the address that is shown is one that a browser can open', (t) => {
  t.match(show('127.0.0.1'), 'http://127.0.0.1:3000/docs')
  t.match(show('::1'), 'http://[::1]:3000/docs')
  t.match(show('0.0.0.0'), 'http://localhost:3000/docs')
  t.match(show('::'), 'http://localhost:3000/docs')
  t.end()
})

t.test('a new key is shown in a curl to paste; without one it is said how to make one', (t) => {
  t.match(show('127.0.0.1', 'petcat_x'), "curl http://127.0.0.1:3000/v1/categories -H 'Authorization: Bearer petcat_x'")
  t.match(show('127.0.0.1', 'petcat_x'), 'This key is shown once.')
  t.match(show('127.0.0.1'), 'Make a key: npm run keys')
  t.end()
})
