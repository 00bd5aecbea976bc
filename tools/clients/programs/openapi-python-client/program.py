import os

from client import AuthenticatedClient, Client
from client.api.categories import create_category, list_categories
from client.api.quickstart import create_message
from client.models import Category, Error, Message, NewCategory, NewMessage
from retry import RetryingTransport

base_url = os.environ["BASE_URL"]
client = AuthenticatedClient(
    base_url=base_url,
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

message = create_message.sync(client=client, body=NewMessage(message="Hello"))
if isinstance(message, Message):
    print(message.status, message.message)

rejected = create_category.sync(client=client, body=NewCategory(name=""))
if isinstance(rejected, Error):
    print("rejected", rejected.status, rejected.code)

unknown = list_categories.sync(client=Client(base_url=base_url))
if isinstance(unknown, Error):
    print("rejected", unknown.status, unknown.code)
