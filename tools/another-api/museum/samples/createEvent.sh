curl --fail-with-body https://museum.example/v1/events \
  -H "Authorization: Bearer $API_KEY" \
  -H 'Content-Type: application/json' \
  -d '{"name": "Night of the Dinosaurs", "day": "2027-05-01"}'
