curl --fail-with-body https://api.petstore.example/v1/pets/1 \
  -H "Authorization: Bearer $API_KEY"
