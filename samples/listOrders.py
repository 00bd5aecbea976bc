import os

import requests

headers = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
page = {"limit": 100, "after": 0}
while True:
    response = requests.get(
        "https://api.petstore.example/v1/store/orders",
        params=page,
        headers=headers,
        timeout=45,
    )
    if not response.ok:
        raise requests.HTTPError(response.text)

    orders = response.json()
    print(orders)
    if len(orders) < page["limit"]:
        break
    page["after"] = orders[-1]["id"]
