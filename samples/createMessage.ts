const response = await fetch('https://api.petstore.example/v1/messages', {
  method: 'POST',
  headers: {
    Authorization: `Bearer ${process.env.API_KEY}`,
    'Content-Type': 'application/json',
    'Idempotency-Key': crypto.randomUUID()
  },
  body: JSON.stringify({ message: 'Hello from the quickstart' }),
  signal: AbortSignal.timeout(45_000)
})
if (!response.ok) throw new Error(await response.text())

console.log(await response.json())
