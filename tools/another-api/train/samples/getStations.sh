curl --fail-with-body "https://api.example.com/v1/stations?search=Paris" \
  -H "Authorization: Bearer $API_KEY"
