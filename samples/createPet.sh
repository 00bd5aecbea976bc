curl --fail-with-body https://api.petstore.example/v1/pets \
  -H "Authorization: Bearer $API_KEY" \
  -H 'Content-Type: application/json' \
  -H "Idempotency-Key: $(openssl rand -hex 16)" \
  -d '{"name": "Milo", "categoryId": 2, "status": "pending"}'
