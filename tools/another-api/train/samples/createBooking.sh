curl --fail-with-body "https://api.example.com/v1/bookings" \
  -H "Authorization: Bearer $API_KEY" \
  --json @body.json
