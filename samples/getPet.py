import os

import requests

response = requests.get(
    "https://api.petstore.example/v1/pets/1",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
    timeout=45,
)
if not response.ok:
    raise requests.HTTPError(response.text)

print(response.json())
