curl --fail-with-body -i -X DELETE \
  https://api.petstore.example/v1/store/orders/1 \
  -H "Authorization: Bearer $API_KEY"
