import os

from client import AuthenticatedClient
from client.api.categories import create_category, list_categories
from client.models import Category, Error, NewCategory
from retry import RetryingTransport

client = AuthenticatedClient(
    base_url=os.environ["BASE_URL"],
    token=os.environ["API_KEY"],
    httpx_args={"transport": RetryingTransport()},
)

created = create_category.sync(client=client, body=NewCategory(name="Rabbit", description="Long ears"))
if not isinstance(created, Category):
    raise RuntimeError(created)
print("created", created.id, created.name)

listed = list_categories.sync(client=client)
for category in listed if isinstance(listed, list) else []:
    print("listed", category.id, category.name)

rejected = create_category.sync(client=client, body=NewCategory(name=""))
if isinstance(rejected, Error):
    print("rejected", rejected.status, rejected.code)
