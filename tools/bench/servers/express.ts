// Express with pg, one query per request.
import express from 'express'
import { peer } from './peer.ts'

const app = express()
app.use((request, response, next) => {
  const startedAt = performance.now()
  response.on('finish', () =>
    peer.log(request.method, request.path, response, startedAt)
  )
  if (
    peer.isValidKey(
      request.headers.authorization?.replace(/^Bearer /, '') ?? ''
    )
  ) {
    next()
  } else {
    response.status(401).json({
      code: 'unauthorized',
      message: 'The API key is not valid',
      status: 401
    })
  }
})
app.get('/v1/categories', async (_request, response) => {
  response.json(await peer.list())
})
app.post('/v1/categories', express.json(), async (request, response) => {
  const { name, description } = (request.body ?? {}) as {
    name: unknown
    description?: unknown
  }
  if (
    typeof name !== 'string' ||
    (description !== undefined && typeof description !== 'string')
  ) {
    response.status(400).json({
      code: 'invalid_request',
      message: 'name must be text',
      status: 400
    })
  } else {
    response.status(201).json(
      await peer.create({
        name,
        ...(description !== undefined && { description })
      })
    )
  }
})
app.listen(peer.port, peer.host)
