curl --fail-with-body https://api.petstore.example/v1/categories \
  -H "Authorization: Bearer $API_KEY"
