import os
import uuid

import requests

response = requests.post(
    "https://api.petstore.example/v1/categories",
    headers={
        "Authorization": f"Bearer {os.environ['API_KEY']}",
        "Idempotency-Key": str(uuid.uuid4()),
    },
    json={"name": "Rabbit", "description": "Small mammals with long ears"},
    timeout=45,
)
if not response.ok:
    raise requests.HTTPError(response.text)

print(response.json())
