curl --fail-with-body "https://api.example.com/v1/trips?origin=efdbb9d1-02c2-4bc3-afb7-6788d8782b1e" \
  -H "Authorization: Bearer $API_KEY"
