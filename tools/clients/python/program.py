import os

from client import AuthenticatedClient
from client.api.pets import list_pets

client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"])

after, is_last = 0, False
while not is_last:
    page = list_pets.sync_detailed(client=client, limit=2, after=after)
    if not isinstance(page.parsed, list):
        raise RuntimeError(page.parsed)
    for pet in page.parsed:
        print("listed", pet.name)
        after = pet.id
    is_last = not page.headers.get("Link")
