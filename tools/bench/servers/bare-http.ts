// The ceiling of anything on Node.js: node:http sends recorded responses,
// without a key check, validation or log.
import { createServer } from 'node:http'
import { responses } from './recording.ts'

const server = createServer((request, response) => {
  const { status, headers, body } =
    responses[request.method === 'POST' ? 'POST' : 'GET']
  request
    .resume()
    .on('end', () => response.writeHead(status, headers).end(body))
})
server.listen(Number(process.env['PORT']), process.env['HOST'])
