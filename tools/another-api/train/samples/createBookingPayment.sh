curl --fail-with-body "https://api.example.com/v1/bookings/1725ff48-ab45-4bb5-9d02-88745177dedb/payment" \
  -H "Authorization: Bearer $API_KEY" \
  --json @body.json
