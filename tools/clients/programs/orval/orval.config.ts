export default {
  categories: {
    input: 'openapi.yaml',
    output: {
      target: 'client/client.ts',
      client: 'fetch',
      override: {
        useBigInt: true,
        mutator: { path: 'send.ts', name: 'send', extension: '.ts' }
      }
    }
  }
}
