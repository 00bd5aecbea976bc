import os

import requests

response = requests.delete(
    "https://api.petstore.example/v1/store/orders/1",
    headers={"Authorization": f"Bearer {os.environ['API_KEY']}"},
    timeout=45,
)
if not response.ok:
    raise requests.HTTPError(response.text)

print(response.status_code)
