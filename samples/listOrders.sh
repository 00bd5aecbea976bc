curl --fail-with-body https://api.petstore.example/v1/store/orders \
  -H "Authorization: Bearer $API_KEY"
