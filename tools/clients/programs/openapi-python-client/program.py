import os

from client import AuthenticatedClient
from client.api.categories import create_category
from client.api.pets import create_pet, list_pets
from client.models import Category, NewCategory, NewPet, Pet
from retry import RetryingTransport

client = AuthenticatedClient(
    base_url=os.environ["BASE_URL"],
    token=os.environ["API_KEY"],
    httpx_args={"transport": RetryingTransport()},
    raise_on_unexpected_status=True,
)

created = create_category.sync(client=client, body=NewCategory(name="Rabbit", description="Long ears"))
if not isinstance(created, Category):
    raise RuntimeError(created)
print("created", created.id, created.name)

pet = create_pet.sync(client=client, body=NewPet(name="Bella", category_id=created.id))
if not isinstance(pet, Pet):
    raise RuntimeError(pet)
print("created", pet.id, pet.name)

after = 0
while page := list_pets.sync(client=client, limit=2, after=after):
    if not isinstance(page, list):
        raise RuntimeError(page)
    for pet in page:
        print("listed", pet.name)
        after = pet.id
