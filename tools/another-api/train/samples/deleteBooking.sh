curl --fail-with-body -X DELETE "https://api.example.com/v1/bookings/1725ff48-ab45-4bb5-9d02-88745177dedb" \
  -H "Authorization: Bearer $API_KEY"
