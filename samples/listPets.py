import os
from urllib.parse import urljoin

import requests

headers = {"Authorization": f"Bearer {os.environ['API_KEY']}"}
url = "https://api.petstore.example/v1/pets?status=available"
while url:
    response = requests.get(url, headers=headers, timeout=45)
    if not response.ok:
        raise requests.HTTPError(response.text)
    print(response.json())

    link = response.links.get("next")
    url = link and urljoin(response.url, link["url"])
