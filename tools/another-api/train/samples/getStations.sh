curl --fail-with-body "https://api.example.com/v1/stations?limit=5" \
  -H "Authorization: Bearer $API_KEY"
