const response = await fetch('https://api.petstore.example/v1/pets/1', {
  headers: { Authorization: `Bearer ${process.env.API_KEY}` },
  signal: AbortSignal.timeout(45_000)
})
if (!response.ok) throw new Error(await response.text())

console.log(await response.json())
