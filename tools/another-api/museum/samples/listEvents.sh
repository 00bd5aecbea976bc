curl --fail-with-body https://museum.example/v1/events \
  -H "Authorization: Bearer $API_KEY"
