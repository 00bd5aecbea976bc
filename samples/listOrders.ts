const headers = { Authorization: `Bearer ${process.env.API_KEY}` }

let url: string | undefined = 'https://api.petstore.example/v1/store/orders'
while (url) {
  const response: Response = await fetch(url, {
    headers,
    signal: AbortSignal.timeout(45_000)
  })
  if (!response.ok) throw new Error(await response.text())
  console.log(await response.json())

  const link = response.headers.get('Link') ?? ''
  const next = /<([^>]*)>; rel="next"/.exec(link)?.[1]
  url = next && new URL(next, response.url).href
}
